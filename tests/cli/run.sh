#!/bin/sh
# pdmigrate run: recorded outputs, random inputs, bad inputs, limits, traces.
. "${srcdir:?}/tests/cli/cli.sh"
npz() {
    python3 "$srcdir/tests/cli/npz.py" "$@"
}
loop=$srcdir/fixtures/samples/while_loop.json
o=$dir/w/o.npz

# ---- recorded runs: legacy models, control flow, arrays; any number of threads
for model in "$models/bilstm_tagger" "$models/branchy_loop" "$cases/flow_while_nested" \
    "$cases/flow_array_in_while" "$cases/flow_if_no_false_branch_inplace" "$cases/op_select_output__roundtrip"; do
    name=$(basename "$model")
    for io in "$model"/io*.npz; do
        for threads in 1 3; do
            exits 0 "$name: $(basename "$io"), $threads threads" run "$model" --io "$io" -o "$o" --threads $threads
            tap_try "$name: the recorded outputs" npz diff "$io" "$o"
            mv "$o" "$dir/threads$threads.npz"
        done
        tap_try "$name: threads change nothing" cmp "$dir/threads1.npz" "$dir/threads3.npz"
    done
done

# ---- random inputs
exits 0 "random inputs" run "$loop" --random --seed 7 -o "$o"
tap_is "$(npz keys "$o" | tr '\n' ' ')" "in:x in:n out:0:fetch_name_0 out:1:fetch_name_1 " \
    "random inputs are written with the outputs"
cp "$o" "$dir/seven.npz"
exits 0 "random inputs again" run "$loop" --random --seed 7 -o "$o" --force
tap_try "the same seed gives the same file" cmp "$o" "$dir/seven.npz"
exits 0 "another seed" run "$loop" --random --seed 8 -o "$o" -f
cmp -s "$o" "$dir/seven.npz"
tap_is $? 1 "another seed gives other numbers"
exits 0 "what was random can be given" run "$loop" --io "$dir/seven.npz" -o "$dir/given.npz"
tap_try "and gives the same outputs" npz diff "$dir/seven.npz" "$dir/given.npz"
exits 0 "an output is not needed" run "$loop" --random
tap_try "the outputs are named" grep -q ': float32\[2, 3\]$' "$dir/out"

# ---- bad inputs
npz write "$dir/good.npz" "in:x=<f4:2x3:1.5" "n=<i8:1:3"
exits 0 "plain keys" run "$loop" --io "$dir/good.npz"
bad() { # NAME PATTERN CODE ARGUMENTS...
    bad_name=$1
    bad_pattern=$2
    bad_code=$3
    shift 3
    exits "$bad_code" "$bad_name" run "$@" -o "$dir/w/none.npz"
    says "$bad_pattern" "$bad_name: the message"
    tap_is "$(cat "$dir/out")" "" "$bad_name: standard output is empty"
}
npz write "$dir/a.npz" "in:x=<f4:2x3:1.5"
bad "an input is missing" "no data for input 'n'" 2 "$loop" --io "$dir/a.npz"
npz write "$dir/a.npz" "in:x=<f4:2x3:1.5" "in:n=<i8:1:3" "in:m=<i8:1:3"
bad "an input too many" "no input 'm'" 2 "$loop" --io "$dir/a.npz"
npz write "$dir/a.npz" "in:x=<f8:2x3:1.5" "in:n=<i8:1:3"
bad "another element type" "float64.*wants float32" 2 "$loop" --io "$dir/a.npz"
npz write "$dir/a.npz" "in:x=<f4:3x2:1.5" "in:n=<i8:1:3"
bad "another shape" "float32\[3, 2\].*wants float32\[2, 3\]" 2 "$loop" --io "$dir/a.npz"
npz write "$dir/a.npz" "in:x=>f4:2x3:1.5" "in:n=<i8:1:3"
bad "big-endian" "big-endian" 5 "$loop" --io "$dir/a.npz"
head -c 200 "$dir/good.npz" >"$dir/a.npz"
bad "a file cut off" "cut off|archive" 5 "$loop" --io "$dir/a.npz"
echo hello >"$dir/a.npz"
bad "no archive" "neither" 5 "$loop" --io "$dir/a.npz"
bad "no file" "No such file" 5 "$loop" --io "$dir/nowhere.npz"
mkdir "$dir/broken" && name=$(sed -n 's/^#define PDM_LIBZIP_SONAME "\(.*\)"/\1/p' "${builddir:?}/config.h") &&
    : >"$dir/broken/$name"
LD_LIBRARY_PATH=$dir/broken
export LD_LIBRARY_PATH
bad "no libzip" "libzip, which cannot be loaded" 5 "$loop" --io "$dir/good.npz"
unset LD_LIBRARY_PATH
bad "no inputs" "has inputs" 2 "$loop"
bad "a shape of nothing" "no such input" 2 "$loop" --random --shape y=1
bad "a shape that is none" "no shape" 2 "$loop" --random --shape x=1,b
bad "a shape that does not fit" "wants float32" 2 "$loop" --random --shape x=3,3
bad "shapes without --random" "random" 2 "$loop" --io "$dir/good.npz" --shape x=2,3
bad "a number of threads" "threads" 2 "$loop" --random --threads many
# 40 GB of zeros in 40 MB would be a bomb; what counts is what the file says, so a small one does.
python3 - "$dir/a.npz" <<'PY'
import struct, sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w", zipfile.ZIP_DEFLATED) as z:
    z.writestr("in:x.npy", b"\0" * 100000)
data = bytearray(open(sys.argv[1], "rb").read())
for at, off in ((data.find(b"PK\3\4"), 22), (data.find(b"PK\1\2"), 24)):
    data[at + off:at + off + 4] = struct.pack("<I", 0xfffffff0)
open(sys.argv[1], "wb").write(data)
PY
if [ "${PDM_SANITIZERS:-no}" = no ]; then
    (
        ulimit -v 2097152
        "$PDMIGRATE" run "$loop" --io "$dir/a.npz" >"$dir/out" 2>"$dir/err"
    )
    tap_is $? 5 "a zip bomb"
    says "cannot be|archive|more memory" "a zip bomb: the message"
else
    tap_skip "a zip bomb" "sanitizers want address space"
    tap_skip "a zip bomb: the message" "sanitizers want address space"
fi
tap_is "$(left "$dir/w")" "o.npz" "nothing was written"
exits 2 "an output that exists" run "$loop" --random -o "$o"
says "exists" "an output that exists: the message"

# ---- loops without end
npz write "$dir/endless.npz" "x=<f4:2x3:0" "n=<i8:1:9000000000000000000"
exits 6 "--max-iterations" run "$loop" --io "$dir/endless.npz" --max-iterations 1000
says "limit of its turns" "--max-iterations: the message"
exits 0 "--max-iterations that are enough" run "$loop" --io "$dir/good.npz" --max-iterations 3
tap_is "$(python3 - "$PDMIGRATE" "$loop" "$dir/endless.npz" <<'PY'
import signal, subprocess, sys, time
signal.signal(signal.SIGINT, signal.SIG_DFL)
p = subprocess.Popen([sys.argv[1], "run", sys.argv[2], "--io", sys.argv[3]], stderr=subprocess.PIPE)
time.sleep(1)
begin = time.monotonic()
p.send_signal(signal.SIGINT)
err = p.communicate(timeout=60)[1]
print(p.returncode, time.monotonic() - begin < 0.5, b"cancelled" in err.lower() or b"interrupted" in err.lower())
PY
)" "130 True True" "an interrupt ends a loop at once, and says so"

# A kernel that computes for long asks nobody: the program ends all the same. The best of a few tries, and
# more time when others want the processors.
tap_is "$(python3 - "$PDMIGRATE" "$srcdir/fixtures/cases/op_matmul_v2__trans" <<'PY'
import os, signal, subprocess, sys, time
signal.signal(signal.SIGINT, signal.SIG_DFL)
limit = 0.1 * max(1, os.getloadavg()[0] / os.cpu_count())
sizes = ["--random", "--any-shape", "--shape", "x=4000,4000", "--shape", "y=4000,4000", "--kernels", "reference"]
def try_it(*options):
    p = subprocess.Popen([sys.argv[1], "run", sys.argv[2], *sizes, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(1.5)
    begin = time.monotonic()
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=60)
    return time.monotonic() - begin, p.returncode, b"interrupted" in out + err
plain = [try_it() for _ in range(5)]
json = try_it("--format", "json")
print(min(t for t, _, _ in plain) < limit, {(c, s) for _, c, s in plain}, json[1:])
PY
)" "True {(130, True)} (130, True)" "an interrupt ends a long kernel within 100 ms, and says so"

# On a terminal a long run tells how long it has been going on; the line goes at the end.
tap_is "$(python3 "$srcdir/tests/cli/terminal.py" 'running: 1.' "$PDMIGRATE" run "$loop" --io "$dir/endless.npz")" "130 True True" "a long run on a terminal shows its time"

# ---- traces
exits 0 "--trace and --profile" run "$loop" --io "$dir/good.npz" --trace "$dir/t.json" --profile
is_json "$dir/t.json" "the trace is JSON"
tap_is "$(json_get "$dir/t.json" 'sorted({e["ph"] for e in j["traceEvents"]})')" "['X']" "the trace has events"
tap_is "$(json_get "$dir/t.json" 'sum(e["name"] == "pd_op.less_than" for e in j["traceEvents"])')" 4 \
    "the trace has each turn of a loop"
tap_try "the profile has the ops" grep -q 'pd_op.while$' "$dir/out"
exits 2 "a trace that exists" run "$loop" --io "$dir/good.npz" --trace "$dir/t.json"
says "the output exists already" "a trace that exists: why"
exits 0 "--force replaces it" run "$loop" --io "$dir/good.npz" --trace "$dir/t.json" --force
exits 5 "a trace in a folder that is not there" run "$loop" --io "$dir/good.npz" --trace "$dir/none/t.json"
exits 0 "as JSON" run "$loop" --io "$dir/good.npz" --profile --format json
is_json "$dir/out" "as JSON is JSON"
tap_is "$(json_get "$dir/out" '[j["status"], j["outputs"][1]["dims"], len(j["profile"]) > 2]')" \
    "['ok', [2, 3], True]" "as JSON tells outputs and profile"
exits 2 "a failure as JSON" run "$loop" --format json
is_json "$dir/out" "a failure as JSON is JSON"

# ---- models that cannot be run
exits 4 "a training program" run "$cases/bad_training_program" --random
exits 3 "an invalid model" run "$cases/bad_no_blocks" --random
exits 4 "an unknown op" run "$cases/bad_unknown_op" --random
# While loops and branches have blocks of their own; their ops are told with the others.
sed 's/"1\.scale"/"1.scale_sr"/' "$loop" >"$dir/rows.json"
exits 4 "ops without kernels" run "$dir/rows.json" --random
tap_is "$(sed 's/.*\(block [0-9]*, op [0-9]* ([^)]*): .*\)/\1/' "$dir/err" | sort -u)" "$(python3 - "$dir/rows.json" <<'PY'
import json, sys

name, found, count = "scale_sr", [], [0]
def walk(block):
    number = count[0]
    count[0] += 1
    for i, op in enumerate(block["ops"]):
        if op["#"] == "1." + name:
            found.append("block %d, op %d (pd_op.%s): the op cannot be run: there is no kernel for it, since it works on selected "
                         "rows, which a loaded program cannot make [exec-kernel]" % (number, i, name))
        for region in op.get("regions", []):
            for inner in region["blocks"]:
                walk(inner)
for block in json.load(open(sys.argv[1]))["program"]["regions"][0]["blocks"]:
    walk(block)
print("\n".join(sorted(found)))
PY
)" "ops without kernels are all told, with their places"
tap_done

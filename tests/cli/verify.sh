#!/bin/sh
# pdmigrate verify and record.
. "${srcdir:?}/tests/cli/cli.sh"
loop=$cases/flow_while_nested
net=$models/mobilenet_v3_small

exits 0 "recorded outputs of a loop" verify "$loop" --io "$loop/io.npz"
tap_try "they are compared with the record" grep -q "agree with the recorded outputs" "$dir/out"
exits 0 "without a record" verify "$loop"
tap_try "the legacy program is the judge" grep -q "agree with the legacy program" "$dir/out"

exits 0 "a conversion of its own" "$net" -o "$dir/w/new.json"
exits 0 "the old model against the new" verify "$net" "$dir/w/new.json" --seed 3
exits 0 "a PIR model against a record made now" record "$net" --random -o "$dir/w/rec.npz"
exits 0 "the new model against that record" verify "$dir/w/new.json" --io "$dir/w/rec.npz"
exits 2 "a PIR model against nothing" verify "$dir/w/new.json"
says "nothing to compare" "a PIR model against nothing: why"
exits 2 "record without an output" record "$net" --random
exits 0 "inputs drawn for a model with LoD have LoD" verify "$models/lod_textcnn" --shape ctx=3,8
exits 0 "inputs drawn for a model with LoD, as many rows as asked" verify "$cases/op_gru__basic" --shape input=7,12
exits 0 "dimensions of 1 are nothing to quarrel about in PIR" "$cases/op_leaky_relu__alpha" -o "$dir/w/ones.json"
exits 0 "it runs" record "$dir/w/ones.json" --random --shape x=1,4,1 -o "$dir/w/ones.npz"
exits 2 "an input of a shape that the model does not take" record "$net" --random --shape x=3,32 -o "$dir/w/odd.npz"
says "the model wants" "an input of a shape that the model does not take: why"
exits 0 "a shape that nobody checks" record "$cases/op_leaky_relu__alpha" --any-shape --random --shape x=3,5,2 -o "$dir/w/rows.npz"
exits 2 "a tolerance that is none" verify "$net" --rtol x
exits 5 "a file that is not there" verify "$net" --io "$dir/w/none.npz"

# A translation fault: a constant of the new program changed.
leaky=$cases/op_leaky_relu__alpha
run "$leaky" -o "$dir/w/right.json"
sed 's/"D":0\.[0-9]*}/"D":0.75}/' "$dir/w/right.json" >"$dir/w/wrong.json"
tap_try "the fault is there" sh -c "! cmp -s '$dir/w/right.json' '$dir/w/wrong.json'"
exits 0 "without the fault" verify "$leaky" "$dir/w/right.json"
exits 1 "a wrong constant is found" verify "$dir/w/wrong.json" --io "$leaky/io.npz"
tap_try "with the place of the worst value" grep -q "the worst at \[" "$dir/out"
exits 0 "but a huge tolerance takes it" verify "$dir/w/wrong.json" --io "$leaky/io.npz" --rtol 1e9 --atol 1e9
exits 1 "a cosine does not" verify "$dir/w/wrong.json" --io "$leaky/io.npz" --rtol 1e9 --atol 1e9 --cosine 0.99999999

exits 1 "the legacy program judges as well" verify "$leaky" "$dir/w/wrong.json"
exits 1 "as JSON" verify --format json "$dir/w/wrong.json" --io "$leaky/io.npz"
is_json "$dir/out" "the report is JSON"
tap_is "$(json_get "$dir/out" '[j["exit_code"], j["comparisons"][0]["equal"], j["comparisons"][0]["reason"]]')" \
    "[1, False, 'values']" "it says what is wrong"
tap_is "$(json_get "$dir/out" 'j["status"]')" different "JSON says so in a word, too"

# ---- LoD
lod=$cases/op_fusion_seqpool_concat__sum
exits 0 "LoD as recorded" verify "$lod" --io "$lod/io.npz"
python3 - "$lod/io.npz" "$dir/lod.npz" "$dir/nolod.npz" <<'PY'
import sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as z, zipfile.ZipFile(sys.argv[2], "w") as other, zipfile.ZipFile(sys.argv[3], "w") as none:
    for n in z.namelist():
        data = z.read(n)
        if n.startswith("lod:out:"):
            data = data[:-8] + (7).to_bytes(8, "little")
        else:
            none.writestr(n, data)
        other.writestr(n, data)
PY
exits 1 "another LoD" verify "$lod" --io "$dir/lod.npz"
tap_try "it is told" grep -q "LoD level 0: expected \[0, 1, 7\], got \[0, 1, 2\]" "$dir/out"
exits 1 "LoD that is not expected" verify "$lod" --io "$dir/nolod.npz"
tap_try "it is told" grep -q "LoD level 0: expected none, got \[0, 1, 2\]" "$dir/out"

# ---- tolerances
rule() { # CODE NAME LINE: a file with that line, for the wrong constant
    printf '# a comment\n\n%b\n' "$3" >"$dir/tol.tsv"
    exits "$1" "$2" verify "$dir/w/wrong.json" --io "$leaky/io.npz" --dtype-tolerances "$dir/tol.tsv"
}
rule 0 "a line for all" '*\t*\t1e9\t1e9'
rule 0 "a line for the type" '* float32 1e9 1e9'
rule 0 "a line for the output" 'leaky_relu_out float32 1e9 1e9'
rule 1 "a line for another type" '* float16 1e9 1e9'
rule 1 "the nearer line counts" 'leaky_relu_out * 0 0\n* * 1e9 1e9'
rule 0 "ULP" '* * - - 100000000000'
rule 1 "nothing but dashes" '* * - - -'
rule 1 "a name that is not there" 'nosuch * 1e9 1e9'
says "no output has the name 'nosuch'" "a name that is not there: the warning"
rule 2 "an unknown type" '* float23 1 1'
says "line 3: there is no element type 'float23'" "an unknown type: the message"
rule 2 "bool has no tolerance" '* bool 1 1'
rule 2 "no number" '* float32 1 x'
rule 2 "a negative number" '* float32 1 -1'
rule 2 "NaN" '* float32 nan 1'
rule 2 "half an ULP" '* float32 1 1 0.5'
rule 2 "a column that is missing" '* float32 1'
says "line 3: 4 or 5 columns are wanted, there are 3" "a column that is missing: the message"
rule 2 "a column too many" '* float32 1 1 1 1'
exits 5 "no file" verify "$loop" --dtype-tolerances "$dir/none.tsv"
exits 5 "a folder" verify "$loop" --dtype-tolerances "$dir"
head -c 4000 /dev/urandom >"$dir/tol.tsv"
exits 2 "no text" verify "$loop" --dtype-tolerances "$dir/tol.tsv"
sed -n 's/^TOLERANCE("\(.*\)", \(.*\), \(.*\), "\(.*\)")$/| \1 | \2 | \3 | \4 |/p' "$srcdir/src/cli/tolerances.def" >"$dir/table"
tap_is "$(grep -cxFf "$dir/table" "$srcdir/docs/verify.md")" "$(wc -l <"$dir/table")" "the table is documented"

# ---- reports
exits 0 "JUnit" verify "$loop" --io "$loop/io.npz" --io "$loop/io2.npz" --format junit
xml() { # EXPRESSION: over the root r of standard output
    python3 -c 'import sys, xml.etree.ElementTree as E
r = E.parse(sys.argv[1]).getroot()
print(eval(sys.argv[2]))' "$dir/out" "$1"
}
tap_is "$(xml '[r.tag, r.get("failures"), len(r), r.get("tests") == str(len(r.findall(".//testcase")))]')" \
    "['testsuites', '0', 2, True]" "a suite for each input set"
exits 1 "JUnit of a difference" verify "$dir/w/wrong.json" --io "$leaky/io.npz" --format junit
tap_is "$(xml '[r.get("failures"), r.find(".//failure").get("type"), "the worst at" in r.find(".//failure").get("message")]')" \
    "['1', 'values', True]" "it has the failure"
exits 5 "JUnit of a run that fails" verify "$loop" --io "$dir/w/none.npz" --format junit
tap_is "$(xml '[r.get("errors"), r.find(".//error").get("type")]')" "['1', 'exit 5']" "it has the error"
exits 2 "only verify has JUnit" show "$loop" --format junit

html=$dir/w/report.html
exits 1 "HTML" verify "$dir/w/wrong.json" --io "$leaky/io.npz" --html "$html"
tap_try "one row, one histogram" sh -c "[ \$(grep -c '<tr><td' '$html') = 1 ] && [ \$(grep -c '<svg' '$html') = 1 ]"
tap_try "no scripts, nothing from elsewhere" sh -c "! grep -qiE '<script|https?://|<link|<img|@import|url\(' '$html'"
tap_try "light and dark" grep -q 'prefers-color-scheme: dark' "$html"
python3 - "$html" <<'PY'
import html.parser, sys
class P(html.parser.HTMLParser):
    stack = []
    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "line", "rect") or (tag == "rect"):
            self.stack.append(tag)
    def handle_startendtag(self, tag, attrs):
        pass
    def handle_endtag(self, tag):
        assert self.stack.pop() == tag, tag
p = P()
p.feed(open(sys.argv[1], encoding="utf-8").read())
assert not p.stack
PY
tap_is $? 0 "its elements are closed"
exits 2 "a report that exists" verify "$loop" --html "$html"
says "the output exists already" "a report that exists: why"
exits 0 "unless --force is given" verify "$loop" --html "$html" --force
tap_try "it was replaced" grep -q "flow_while_nested" "$html"
exits 5 "a folder that is not there" verify "$loop" --html "$dir/nowhere/report.html"
ln -s "$(cd "$loop" && pwd)" "$dir/<b>&'x"
exits 0 "a name with markup" verify "$dir/<b>&'x" --html "$html" --force --format junit
tap_is "$(xml 'r.find(".//testcase").get("classname")[-7:]')" "/<b>&'x" "is a name in XML"
tap_try "and in HTML" sh -c "grep -q '&lt;b&gt;&amp;&#39;x' '$html' && ! grep -q '<b>' '$html'"

# A run on a terminal tells which input set it is at; the line goes at the end.
npz() {
    python3 "$srcdir/tests/cli/npz.py" "$@"
}
npz write "$dir/endless.npz" "x=<f4:2x3:0" "n=<i8:1:9000000000000000000"
tap_is "$(python3 "$srcdir/tests/cli/terminal.py" 'verifying, input set 1 of 1: 1.' "$PDMIGRATE" verify "$srcdir/fixtures/samples/while_loop.json" --io "$dir/endless.npz")" "130 True True" "a long run on a terminal shows where it is"
# Where the runs part. The fault: an operand of subtract swapped with the other, in a branch.
branch=$cases/flow_if_two_outputs
exits 1 "a difference is bisected" verify "$leaky" "$dir/w/wrong.json" --bisect
tap_try "it names the op" grep -q "part at out of pd_op.leaky_relu" "$dir/out"
tap_try "and the legacy op and variable" grep -q "op 'leaky_relu' (block 0, op 1), variable 'leaky_relu_out'" "$dir/out"
tap_try "and the attribute that differs" grep -q "attribute 'negative_slope' is 0.75, in the translation" "$dir/out"
exits 1 "bisect as JSON" verify "$leaky" "$dir/w/wrong.json" --bisect --format json
tap_is "$(json_get "$dir/out" '[j["bisect"]["op"], j["bisect"]["legacy"]["variable"], len(j["bisect"]["inputs"])]')" \
    "['pd_op.leaky_relu', 'leaky_relu_out', 1]" "op, variable and inputs are there"
exits 1 "a record alone tells no values in between" verify "$dir/w/wrong.json" --io "$leaky/io.npz" --bisect
tap_try "and it says so" grep -q "recorded outputs tell no values in between" "$dir/out"
exits 0 "nothing to bisect" verify "$branch" --bisect
tap_try "several sets of random inputs" grep -q "(8 sets of inputs)" "$dir/out"

tap_done

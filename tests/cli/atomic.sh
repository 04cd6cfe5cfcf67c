#!/bin/sh
# Whatever stops a conversion: no partial output.
. "${srcdir:?}/tests/cli/cli.sh"
program=$models/mobilenet_v3_small/inference.pdmodel
params=$models/mobilenet_v3_small/inference.pdiparams
w=$dir/w
# ---- kill -9 after ever longer times, until it ends by itself several times
cat >"$dir/sweep.py" <<'P'
"""sweep.py WANT OLD W COMMAND...: OLD is a folder with an old pair, or empty. Prints what was wrong, or nothing."""
import os, shutil, subprocess, sys, time
want, old, w, command = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
names = ["o.json", "o.pdiparams"]

def content(folder, name):
    try:
        with open(os.path.join(folder, name), "rb") as f:
            return f.read()
    except FileNotFoundError:
        return None

new = {n: content(want, n) for n in names}
was = {n: content(old, n) for n in names}

def fault():
    now = {n: content(w, n) for n in names}
    for n in names:
        if now[n] not in (new[n], was[n]):
            return n + " is partial"
    if now["o.json"] == new["o.json"] and now["o.pdiparams"] != new["o.pdiparams"]:
        return "the program is there without its parameters"
    for n in os.listdir(w):
        # To take the place of an old file, a new one must have a hidden name for a moment.
        if n not in names and not (was["o.json"] and n.startswith(".o.")):
            return n + " is left over"
    return None

def fresh():
    shutil.rmtree(w, ignore_errors=True)
    shutil.copytree(old, w)

def once(delay):
    p = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.perf_counter() + delay
    while time.perf_counter() < end and p.poll() is None:
        pass
    p.kill()
    return p.wait()

fresh()
begin = time.perf_counter()
once(60)
whole = time.perf_counter() - begin
killed = 0
for step in range(150):
    fresh()
    delay = whole * 1.2 * step / 150
    code = once(delay)
    killed += code == -9
    why = fault() if code in (-9, 0) else "exit status %d" % code
    if why:
        print("after %.4f s: %s" % (delay, why))
        break
if not killed:
    print("none was killed")
P
mkdir "$dir/want" "$dir/empty" "$dir/old"
exits 0 "the whole conversion" "$program" -o "$dir/want/o.json"
exits 0 "another pair" "$models/bilstm_tagger" -o "$dir/old/o.json"
tap_is "$(python3 "$dir/sweep.py" "$dir/want" "$dir/empty" "$w" "$PDMIGRATE" "$program" -o "$w/o.json")" "" \
    "kill -9: nothing partial"
tap_is "$(python3 "$dir/sweep.py" "$dir/want" "$dir/old" "$w" "$PDMIGRATE" "$program" -o "$w/o.json" --force)" "" \
    "kill -9 over an old pair: nothing partial"

# ---- interrupt
rm -rf "$w"
mkdir "$w"
cat >"$dir/int.py" <<'P'
import signal, subprocess, sys, time
seen = set()
for step in range(100):
    p = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                         preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    end = time.perf_counter() + step * 0.0002
    while time.perf_counter() < end:
        pass
    p.send_signal(signal.SIGINT)
    code = p.wait()
    # Before its handler is there, the signal ends it as any program.
    seen.add(130 if code == -signal.SIGINT else code)
    if code == 0:
        break
print(sorted(seen))
P
result=$(python3 "$dir/int.py" "$PDMIGRATE" "$program" -o "$w/o.json" --force)
case $result in
'[0, 130]' | '[130]') tap_ok 0 "interrupted: exit status 130" ;;
*) tap_is "$result" '[0, 130]' "interrupted: exit status 130" ;;
esac
for file in o.json o.pdiparams; do
    if [ -e "$w/$file" ]; then
        tap_try "interrupted: $file is whole" cmp "$dir/want/$file" "$w/$file"
    else
        tap_ok 0 "interrupted: $file is not there"
    fi
done

# ---- a disk that is full
mkdir -p "$dir/small"
size=$(($(stat -c %s "$params") / 1024))
if [ "$(id -u)" -ne 0 ] || ! mount -t tmpfs -o size=64k tmpfs "$dir/small" 2>/dev/null; then
    tap_skip "full disk" "needs root and the right to mount"
else
    umount "$dir/small"
    w=$dir/small
    # From room for nothing to room for all.
    for kib in 4 16 64 128 256 $((size / 2)) $((size - 16)) $((size + 64)) $((size + 4096)); do
        mount -t tmpfs -o "size=${kib}k" tmpfs "$dir/small"
        run "$program" -o "$dir/small/o.json"
        if [ $status -eq 0 ]; then
            tap_is "$(left "$dir/small")" "o.json o.pdiparams" "$kib KiB of disk: enough"
        else
            tap_is "$status" 5 "$kib KiB of disk: exit status"
            tap_is "$(left "$dir/small")" "" "$kib KiB of disk: nothing is left"
            says "No space left" "$kib KiB of disk: the message"
        fi
        umount "$dir/small"
    done
    tap_is "$status" 0 "enough disk is enough"
    # With room for one more program, but not for both files, the old pair stays.
    mount -t tmpfs -o "size=$((size + 400))k" tmpfs "$dir/small"
    echo old >"$dir/small/o.json"
    echo old >"$dir/small/o.pdiparams"
    head -c $((300 * 1024)) /dev/zero >"$dir/small/filler"
    run "$program" -o "$dir/small/o.json" --force
    tap_is "$status" 5 "full disk over an old pair: exit status"
    tap_is "$(cat "$dir/small/o.json" "$dir/small/o.pdiparams" | tr '\n' ' ')" "old old " \
        "full disk over an old pair: it stays"
    umount "$dir/small"
fi
tap_done

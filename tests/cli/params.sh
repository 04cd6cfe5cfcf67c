#!/bin/sh
# Parameters: which are written, and what happens when file and program do not agree.
. "${srcdir:?}/tests/cli/cli.sh"
w=$dir/w

# model KIND: $w holds a fresh model of that kind (make_model.py).
model() {
    rm -rf "$w"
    python3 "$srcdir/tests/cli/make_model.py" "$w" "$1" || exit 1
}

model unused
exits 0 "unused parameters" "$w" -o "$dir/unused.json"
tap_try "only those used are written" cmp "$w/used" "$dir/unused.pdiparams"
tap_is "$(cat "$dir/err")" "" "unused parameters are nothing to tell"
exits 2 "over the parameters that are read" "$w" -o "$w/model.json" --force
says "model.pdiparams: .*parameter file that is read" "over the parameters that are read: the message"
tap_is "$(left "$w")" "model.pdiparams model.pdmodel used" "over the parameters that are read: nothing is written"

model separate
exits 0 "an unused parameter needs no file" "$w" -o "$dir/separate.json"
tap_try "separate files: the program" cmp "$dir/unused.json" "$dir/separate.json"
tap_try "separate files: the parameters" cmp "$dir/unused.pdiparams" "$dir/separate.pdiparams"
model missing
exits 5 "a used parameter needs its file" "$w" -o "$dir/missing.json"
says "/w: " "a used parameter needs its file: the message names it"
tap_is "$(ls "$dir"/missing* 2>/dev/null)" "" "a used parameter needs its file: nothing is written"

exits 5 "a folder without parameters" "$models/mobilenet_v3_small" --params "$models/mobilenet_v3_small" -o "$dir/none.json"
says "holds none of the files of 210 parameters" "a folder without parameters: the message"
tap_is "$(grep -c '^pdmigrate: error' "$dir/err")" 1 "a folder without parameters: one message"

model unknown
exits 0 "an unknown dimension fits any" "$w" -o "$dir/unknown.json"
tap_is "$(json_get "$dir/unknown.json" '[o["O"]["TT"]["D"][1]
    for o in j["program"]["regions"][0]["blocks"][0]["ops"] if o["#"] == "p"]')" "[[4, 3]]" \
    "the file tells the dimension"

model differs
exits 3 "file and program differ" "$w" -o "$dir/differs.json"
says "'w': the program says float32\[4, 3\], the file float32\[3, 4\]" "the shapes that differ"
says "'z': the program says float32\[5\], the file int32\[5\]" "the element types that differ"
tap_is "$(grep -c '^pdmigrate: error' "$dir/err")" 2 "all differences are told at once"

model scalar
exits 0 "a scalar that is declared [1]" "$w" -o "$dir/scalar.json"
says "note: .*1 parameter is stored otherwise" "a scalar that is declared [1]: a note"
exits 0 "a scalar that is declared [1], --verbose" "$w" -o "$dir/scalar2.json" --verbose
says "note: .*'s': the program says float32\[1\], the file float32\[\]" "--verbose tells which"
model int8
exits 0 "int8 data of a quantized weight" "$w" -o "$dir/int8.json"
says "note: .*2 parameters are stored otherwise" "int8 data of a quantized weight: a note"
tap_try "int8 data of a quantized weight: the parameters" cmp "$w/used" "$dir/int8.pdiparams"
model int8_used
exits 3 "int8 data of a weight that other ops read" "$w" -o "$dir/int8_used.json"
says "'q': the program says float32\[4\], the file int8\[4\]" "int8 data that other ops read: the message"

# What the parameter file is not.
model unused
head -c 100 /dev/urandom >"$w/garbage"
exits 3 "--params that is garbage" "$w/model.pdmodel" --params "$w/garbage" -o "$dir/garbage.json"
exits 3 "--params that is the program" "$w/model.pdmodel" --params "$w/model.pdmodel" -o "$dir/garbage.json"
mkfifo "$w/pipe"
exits 5 "--params that is a pipe" "$w/model.pdmodel" --params "$w/pipe" -o "$dir/garbage.json"
tap_is "$(ls "$dir"/garbage* 2>/dev/null)" "" "nothing is written"

# A large file of holes: they stay holes, and little memory is needed.
rm -rf "$w"
python3 "$srcdir/tests/cli/make_model.py" "$w" large
run "$w" -o "$w/o.json"
tap_is "$status" 0 "3 GiB of parameters"
[ "$status" -eq 0 ] || tap_note "$(cat "$dir/err")"
tap_is "$(stat -c %s "$w/o.pdiparams")" $(((3 << 30) + 30)) "3 GiB of parameters: data and header of w"
blocks=$(stat -c %b "$w/o.pdiparams" 2>/dev/null || echo 999999)
if [ "$(stat -c %b "$w/model.pdiparams")" -gt 65536 ]; then
    tap_skip "3 GiB of parameters: the holes" "the file system has none"
else
    tap_ok $((blocks > 65536)) "3 GiB of parameters: the holes ($blocks blocks)"
fi
tap_done

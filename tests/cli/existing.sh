#!/bin/sh
# Files that lie where the output is to go.
. "${srcdir:?}/tests/cli/cli.sh"
program=$models/bilstm_tagger/inference.pdmodel
params=$models/bilstm_tagger/inference.pdiparams
plain=$cases/op_abs__default
w=$dir/w

# fresh [NAME...]: $w holds only files of these names, each with its name in it
fresh() {
    rm -rf "$w"
    mkdir "$w"
    for name in "$@"; do
        echo "$name" >"$w/$name"
    done
}
# untouched NAME...: a point: they are as fresh made them
untouched() {
    for name in "$@"; do
        tap_is "$(cat "$w/$name")" "$name" "$name is untouched"
    done
}

fresh o.json
exits 2 "the program exists" "$program" -o "$w/o.json"
says "o.json: .*exists" "the program exists: the message names it"
says "hint: .*--force" "the program exists: the hint names --force"
tap_is "$(left "$w")" "o.json" "the program exists: nothing else appears"
untouched o.json

fresh o.pdiparams
exits 2 "the parameters exist" "$program" -o "$w/o.json"
says "o.pdiparams: .*exists" "the parameters exist: the message names them"
tap_is "$(left "$w")" "o.pdiparams" "the parameters exist: nothing else appears"
untouched o.pdiparams

fresh o.json o.pdiparams
exits 0 "--force" "$program" -o "$w/o.json" --force
tap_is "$(left "$w")" "o.json o.pdiparams" "--force: two files"
tap_try "--force: the parameters" cmp "$params" "$w/o.pdiparams"
is_json "$w/o.json" "--force: the program"

fresh o.pdiparams
exits 2 "parameters that belong to nothing" "$plain" -o "$w/o.json"
says "o.pdiparams" "parameters that belong to nothing: the message names them"
untouched o.pdiparams
tap_is "$(left "$w")" "o.pdiparams" "parameters that belong to nothing: nothing appears"
exits 0 "parameters that belong to nothing, --force" "$plain" -o "$w/o.json" --force
tap_is "$(left "$w")" "o.json" "parameters that belong to nothing, --force: they are gone"

fresh o.pdiparams
exits 0 "--no-params leaves a parameter file alone" "$program" -o "$w/o.json" --no-params
untouched o.pdiparams

# A model that is refused leaves what is there, --force or not.
fresh o.json o.pdiparams
exits 4 "a model that is refused" "$cases/bad_unknown_op" -o "$w/o.json" --force
untouched o.json o.pdiparams
tap_is "$(left "$w")" "o.json o.pdiparams" "a model that is refused: nothing else appears"

# The model itself, or its parameters, is no output.
fresh
cp "$srcdir/fixtures/samples/linear_relu.json" "$w/m.json"
cp "$srcdir/fixtures/samples/linear_relu.pdiparams" "$w/m.pdiparams"
exits 2 "OUT is MODEL" "$w/m.json" -o "$w/m.json"
exits 2 "OUT is MODEL, --force" "$w/m.json" -o "$w/m.json" --force
says "m.json" "OUT is MODEL: the message names it"
ln -s m.json "$w/link.json"
exits 2 "OUT is MODEL by another name" "$w/m.json" -o "$w/link.json" --force
tap_try "the model is untouched" cmp "$srcdir/fixtures/samples/linear_relu.json" "$w/m.json"
exits 0 "OUT beside MODEL with its parameters" "$w/m.json" -o "$w/m.pir"
tap_try "the parameters are untouched" cmp "$srcdir/fixtures/samples/linear_relu.pdiparams" "$w/m.pdiparams"

# A symbolic link is followed.
fresh target.json
ln -s target.json "$w/o.json"
exits 0 "through a symbolic link" "$program" -o "$w/o.json" --force
tap_try "the link stays" test -L "$w/o.json"
is_json "$w/target.json" "its target is the program"

fresh
mkdir "$w/o.json"
exits 0 "a folder named like a file" "$program" -o "$w/o.json"
tap_is "$(left "$w/o.json")" "inference.json inference.pdiparams" "a folder named like a file is a folder"

if [ "$(id -u)" -eq 0 ]; then
    tap_skip "a folder that may not be written" "root may write everywhere"
else
    fresh
    chmod 555 "$w"
    exits 5 "a folder that may not be written" "$program" -o "$w/o.json"
    chmod 755 "$w"
fi
tap_done

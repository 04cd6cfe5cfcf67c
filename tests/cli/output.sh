#!/bin/sh
# What MODEL and OUT may be, and which files appear.
. "${srcdir:?}/tests/cli/cli.sh"
fc=$cases/op_net__fc
[ -d "$fc" ] || fc=$cases/report_default_attrs_left_out
w=$dir/w

# fresh FILE...: an empty folder $w with copies, as SOURCE=NAME
fresh() {
    rm -rf "$w"
    mkdir "$w"
    for pair in "$@"; do
        cp "${pair%%=*}" "$w/${pair#*=}"
    done
}
program=$models/bilstm_tagger/inference.pdmodel
params=$models/bilstm_tagger/inference.pdiparams

# ---- OUT
fresh
exits 0 "to .json" "$program" -o "$w/a.json"
tap_is "$(left "$w")" "a.json a.pdiparams" ".json: two files"
is_json "$w/a.json" ".json is JSON"
tap_try "the parameters are the same bytes" cmp "$params" "$w/a.pdiparams"
tap_is "$(sed 's/:.*//' "$dir/out")" "$(printf '%s\n' "$w/a.json" "$w/a.pdiparams")" \
    "standard output names both files"
exits 0 "to .pir" "$program" -o "$w/b.pir"
says "note: .*\.json" ".pir: a note tells that Paddle wants .json"
tap_try ".pir holds the same program" cmp "$w/a.json" "$w/b.pir"
tap_try ".pir has parameters" cmp "$params" "$w/b.pdiparams"
exits 0 "--quiet" "$program" -o "$w/q.pir" --quiet
tap_is "$(cat "$dir/out" "$dir/err")" "" "--quiet tells nothing"
mkdir "$w/folder"
exits 0 "to an existing folder" "$program" -o "$w/folder"
tap_is "$(left "$w/folder")" "inference.json inference.pdiparams" "existing folder: two files"
exits 0 "to a new folder" "$program" -o "$w/new/"
tap_is "$(left "$w/new")" "inference.json inference.pdiparams" "new folder: two files"
exits 5 "to a folder in a missing one" "$program" -o "$w/no/such/"
exits 5 "to a file in a missing folder" "$program" -o "$w/no/x.json"
says "no/x.json" "missing folder: the message names the file"
exits 0 "--indent" "$program" -o "$w/i.json" --indent
is_json "$w/i.json" "--indent is JSON"
tap_is "$(json_get "$w/i.json" j | cksum)" "$(json_get "$w/a.json" j | cksum)" "--indent: the same content"
exits 0 "--no-params" "$program" -o "$w/p.json" --no-params
tap_is "$(ls "$w"/p.*)" "$w/p.json" "--no-params: one file"
exits 0 "without parameters" "$cases/op_abs__default" -o "$w/n.json"
tap_is "$(ls "$w"/n.*)" "$w/n.json" "without parameters: one file"

# ---- MODEL
fresh "$program=m.pdmodel" "$params=m.pdiparams"
exits 0 "a prefix" "$w/m" -o "$w/o.json"
exits 0 "in place" "$w/m.pdmodel" -o "$w/m.json"
says "note: .*there already" "in place: the parameters are left where they are"
tap_try "in place: the parameters are unchanged" cmp "$params" "$w/m.pdiparams"
exits 0 "a prefix with both" "$w/m" -o "$w/o2.json"
says "note: .*m.pdmodel" "a prefix with both: .json is read, a note tells of .pdmodel"
tap_try "a prefix with both: the result" cmp "$w/m.json" "$w/o2.json"
exits 5 "no such model" "$w/nothing" -o "$w/o3.json"
says "nothing" "no such model: the message names it"

fresh "$program=model.pdmodel" "$params=model.pdiparams"
exits 0 "a folder" "$w" -o "$dir/o1.json"
cp "$program" "$w/__model__"
exits 2 "a folder with two models" "$w" -o "$dir/o2.json"
says "model.pdmodel.*__model__" "a folder with two models: they are listed"
fresh
exits 5 "an empty folder" "$w" -o "$dir/o3.json"
exits 5 "an empty folder (show)" show "$w"
fresh "$program=__model__" "$params=__params__"
exits 0 "__model__ and __params__" "$w" -o "$dir/o4.json"
tap_try "__params__ is copied" cmp "$params" "$dir/o4.pdiparams"
fresh "$program=model" "$params=params"
exits 0 "model and params" "$w/model" -o "$dir/o5.json"
fresh "$program=x" "$params=y"
exits 5 "parameters of another name" "$w/x" -o "$dir/o6.json"
says "x.pdiparams" "parameters of another name: where they were looked for"
exits 0 "--params" "$w/x" --params "$w/y" -o "$dir/o6.json"
tap_try "--params: the program" cmp "$dir/o5.json" "$dir/o6.json"
exits 5 "--params that is not there" "$w/x" --params "$w/z" -o "$dir/o7.json"
says "$w/z" "--params that is not there: the message names it"
exits 0 "--no-params needs none" "$w/x" --no-params -o "$dir/o8.json"
exits 3 "a parameter file as model" "$w/y" -o "$dir/o9.json"
says "parameter file" "a parameter file as model: the hint tells"
tap_is "$(left "$dir")" "err o1.json o1.pdiparams o4.json o4.pdiparams o5.json o5.pdiparams o6.json \
o6.pdiparams o8.json out w" "failures left nothing"

# One file per parameter, 1.x style, a name with a slash among them.
sep=$srcdir/fixtures/samples/legacy/sep
fresh
exits 0 "one file per parameter" "$sep" -o "$w/s.json"
exits 0 "one file per parameter, --params" "$sep/__model__" --params "$sep" -o "$w/s2.json"
tap_try "both ways give the same parameters" cmp "$w/s.pdiparams" "$w/s2.pdiparams"
names=$(json_get "$w/s.json" \
    '" ".join(o["A"][3] for o in j["program"]["regions"][0]["blocks"][0]["ops"] if o["#"] == "p")')
for name in $(printf '%s\n' $names | LC_ALL=C sort); do
    cat "$sep/$name"
done >"$w/joined"
tap_try "they are joined in the order of their names" cmp "$w/joined" "$w/s.pdiparams"

# Names that are not ASCII, and files of such names.
fresh "$program=模型 é.pdmodel" "$params=模型 é.pdiparams"
exits 0 "a name that is not ASCII" "$w/模型 é" -o "$w/вывод.json"
tap_is "$(ls "$w"/вывод.*)" "$(printf '%s\n' "$w/вывод.json" "$w/вывод.pdiparams")" "both files have it"
run "$w/模型 é.pdmodel" -o "$w/j.json" --format json
is_json "$dir/out" "the report with such names is JSON"
bad=$(printf 'bad\377name')
if cp "$program" "$w/$bad.pdmodel" 2>/dev/null && cp "$params" "$w/$bad.pdiparams"; then
    run "$w/$bad" -o "$w/$bad.json" --format json
    tap_is "$status" 0 "a name that is no UTF-8"
    is_json "$dir/out" "the report with a name that is no UTF-8 is JSON"
else
    tap_skip "a name that is no UTF-8" "the file system refuses it"
fi

# ---- reports
fresh
run "$program" -o "$w/r.json" --format json
tap_is "$status" 0 "--format json"
is_json "$dir/out" "the report is JSON"
tap_is "$(json_get "$dir/out" '[j["status"], j["exit_code"], j["diagnostics"]]')" "['ok', 0, []]" \
    "the report of a success"
tap_is "$(json_get "$dir/out" 'j["outputs"]["program"] + " " + j["outputs"]["parameters"]')" \
    "$w/r.json $w/r.pdiparams" "the report names the outputs"
run "$cases/bad_unknown_op" -o "$w/u.json" --format json
tap_is "$status" 4 "--format json of a model that is refused"
is_json "$dir/out" "its report is JSON"
tap_is "$(json_get "$dir/out" '[j["status"], j["exit_code"], j["outputs"],
    sorted({d["op_type"] for d in j["diagnostics"] if d["severity"] == "error"}),
    all(d["block"] >= 0 and d["op_index"] >= 0 for d in j["diagnostics"])]')" \
    "['unsupported', 4, None, ['my_custom_gate'], True]" "the report tells which ops"

# ---- PIR as input
sample=$srcdir/fixtures/samples
for name in linear_relu conv_bn cond while_loop; do
    fresh
    exits 0 "normalise $name" "$sample/$name.json" -o "$w/n.json"
    exits 0 "normalise $name twice" "$w/n.json" -o "$w/n2.json"
    tap_try "$name: the second time nothing changes" cmp "$w/n.json" "$w/n2.json"
    tap_is "$(json_get "$w/n.json" 'j["base_code"]["version"]')" 1 "$name: version 1"
    exits 0 "keep the version of $name" "$sample/$name.json" -o "$w/k.json" --keep-version
    tap_is "$(json_get "$w/k.json" j | cksum)" "$(json_get "$sample/$name.json" j | cksum)" \
        "$name: kept"
done
tap_done

#!/bin/sh
# pdmigrate show, on legacy and on PIR models.
. "${srcdir:?}/tests/cli/cli.sh"
legacy=$models/bilstm_tagger
pir=$srcdir/fixtures/samples/conv_bn.json
flow=$cases/flow_while_with_cond_inside

for model in "$legacy" "$pir" "$flow" "$cases/flow_sgd_train_raw" "$srcdir/fixtures/samples/while_loop.json"; do
    name=$(basename "$model")
    exits 0 "summary of $name" show "$model"
    for word in model kind inputs outputs parameters blocks ops; do
        tap_try "summary of $name tells $word" grep -q "^$word " "$dir/out"
    done
    ops=$(awk '$1 == "ops" { print $2 }' "$dir/out")
    exits 0 "--ops of $name" show --ops "$model"
    tap_is "$(awk '{ n += $1 } END { print n + 0 }' "$dir/out")" "$ops" "--ops of $name adds up"
    exits 0 "--text of $name" show --text "$model"
    tap_try "--text of $name is something" test -s "$dir/out"
    exits 0 "--dot of $name" show --dot "$model"
    tap_try "--dot of $name is a graph" grep -q '^digraph' "$dir/out"
    for view in "" --text --dot --ops; do
        # shellcheck disable=SC2086 # no view is no word
        exits 0 "$name as JSON $view" show --format json $view "$model"
        is_json "$dir/out" "$name as JSON is JSON $view"
    done
done

for model in "$legacy" "$pir" "$flow"; do
    name=$(basename "$model")
    exits 0 "--shapes of $name" show --shapes "$model"
    tap_try "--shapes of $name counts tensors" grep -q '^[0-9]* tensors, [0-9]* of unknown rank' "$dir/out"
    exits 0 "--shapes of $name as JSON" show --shapes --format json "$model"
    is_json "$dir/out" "--shapes of $name as JSON is JSON"
done

# --kernel-source, without what compiles; tests/exec/cuda.sh and tests/oracle/cuda.sh do it with NVRTC.
exits 0 "--kernel-source cuda" show --kernel-source cuda "$legacy"
tap_try "kernels are printed" grep -q '^PDM_KERNEL ' "$dir/out"
for language in ptx cubin; do
    PDM_NVRTC=/nowhere/libnvrtc.so exits 4 "--kernel-source $language without NVRTC" show --kernel-source $language "$legacy"
    says "NVRTC is missing.*/nowhere/libnvrtc.so" "--kernel-source $language: what is missing is named"
    tap_is "$(cat "$dir/out")" "" "--kernel-source $language: nothing on standard output"
done
if [ "${PDM_LLVM:-no}" != no ]; then
    exits 0 "--kernel-source llvm" show --kernel-source llvm "$legacy"
    tap_try "LLVM IR is printed" grep -q '^define .*@' "$dir/out"
fi
PDM_MODULE_DIR=/nowhere exits 4 "--kernel-source llvm without its module" show --kernel-source llvm "$legacy"
says "/nowhere/pdmigrate-llvm.so" "--kernel-source llvm: the module is named"
exits 2 "a language that is not known" show --kernel-source metal "$legacy"
exits 2 "--arch is checked" show --kernel-source ptx --arch gfx90 "$legacy"
exits 2 "--arch is for GPUs" show --kernel-source llvm --arch sm_80 "$legacy"
exits 2 "cubin is no text for JSON" show --kernel-source cubin --format json "$legacy"

run show --format json "$legacy"
tap_is "$(json_get "$dir/out" '[j["kind"], j["version"], [i["name"] for i in j["inputs"]]]')" \
    "['legacy', 'Paddle 2.6.2', ['ids', 'length']]" "the summary of bilstm_tagger"
tap_is "$(json_get "$dir/out" 'j["parameters"]["count"] > 0 and j["parameters"]["bytes"] > 0')" True \
    "its parameters are counted"

# Without its parameters a model can still be looked at.
cp "$legacy/inference.pdmodel" "$dir/w/m.pdmodel"
exits 0 "parameters are missing" show "$dir/w/m.pdmodel"
says "note: .*cannot be found" "parameters are missing: a note"
exits 0 "--no-params" show --no-params "$dir/w/m.pdmodel"
tap_is "$(cat "$dir/err")" "" "--no-params: no note"

exits 3 "an invalid model" show "$cases/bad_no_blocks"
tap_is "$(cat "$dir/out")" "" "an invalid model: nothing on standard output"
exits 3 "an invalid model as JSON" show --format json "$cases/bad_no_blocks"
tap_is "$(json_get "$dir/out" '[j["status"], j["exit_code"], len(j["diagnostics"]) > 0]')" \
    "['invalid', 3, True]" "an invalid model as JSON tells why"
exits 0 "an unknown op can be looked at" show "$cases/bad_unknown_op"
exits 0 "training ops can be looked at" show "$cases/bad_training_program"
tap_is "$(left "$dir/w")" "m.pdmodel" "nothing is written"
tap_done

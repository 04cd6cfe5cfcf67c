#!/bin/sh
# show --group-summary: what share of the ops is in groups. More than nine tenths of all that no library does must be, of six models;
# four of them are fetched (fixtures/fetch-models.py).
. "${srcdir:?}/tests/cli/cli.sh"
fetched=${XDG_CACHE_HOME:-$HOME/.cache}/pdmigrate-models

# grouped FOLDER: percent of the ops that no library does
grouped() {
    run show "$1" --no-params --group-summary
    sed -n 's/^ *in groups *[0-9]*  \([0-9.]*\) %.*/\1/p' "$dir/out"
}

for model in bert_tiny unet_mini ch_PP-OCRv4_det_infer ch_PP-OCRv4_rec_infer ch_ppocr_mobile_v2_cls_infer slanet_plus; do
    folder=$models/$model
    [ -d "$folder" ] || folder=$fetched/$model
    if [ -d "$folder" ]; then
        share=$(grouped "$folder")
        tap_try "$model: $share % are in groups" awk -v share="$share" 'BEGIN { exit !(share > 90) }'
    else
        tap_skip "$model" "it is not fetched"
    fi
done
run show "$models/bilstm_tagger" --group-summary
tap_try "what is left is named with the reason" grep -q '^ *[a-z_]* *[0-9]*  [a-z].*' "$dir/out"
exits 0 "as JSON" show "$models/bert_tiny" --group-summary --format json
is_json "$dir/out" "that is JSON"
exits 2 "not with --groups" show "$models/bert_tiny" --group-summary --groups
tap_done

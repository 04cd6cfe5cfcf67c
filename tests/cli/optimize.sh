#!/bin/sh
# -O1, -O2 and the options on passes; that nothing changes without them.
. "${srcdir:?}/tests/cli/cli.sh"
w=$dir/w
unet=$models/unet_mini

exits 0 "as translated" "$unet" -o "$w/0.json"
exits 0 "-O0" "$unet" -o "$w/00.json" -O0
tap_try "-O0 is the same program" cmp "$w/0.json" "$w/00.json"
tap_try "-O0 has the same parameters" cmp "$w/0.pdiparams" "$w/00.pdiparams"

exits 0 "-O1" "$unet" -o "$w/1.json" -O1 --verify-each
exits 0 "-O1 computes what was recorded" verify "$w/1.json" --io "$unet/io.npz"
tap_is "$(grep -o '"1.batch_norm"' "$w/1.json" | wc -l)" 4 "-O1 leaves batch normalization"
rm "$w"/1.*
exits 0 "-O2" "$unet" -o "$w/1.json" -O2 --verify-each --format json --pass-stats
cp "$dir/out" "$w/stats"
tap_is "$(json_get "$w/stats" 'j["passes"][0]["ops"]["before"] > j["passes"][-1]["ops"]["after"] == j["ops"]["after"]')" True \
    "-O2 leaves fewer ops"
tap_is "$(json_get "$w/stats" '[p["hits"] for p in j["passes"] if p["name"] == "conv-bn"]')" \
    "[{'batch_norm of a convolution': 4}]" "the report tells what was done"
tap_is "$(json_get "$w/stats" '[p["bytes"] > 16384 for p in j["passes"] if p["name"] in ("conv-bn", "hoist")]')" "[True, False]" \
    "and how much memory was taken: four filters by one, nothing by another"
exits 0 "the optimized program computes what was recorded" verify "$w/1.json" --io "$unet/io.npz"
exits 0 "optimizing again changes nothing" "$w/1.json" -o "$w/11.json" -O2
tap_try "the same program" cmp "$w/1.json" "$w/11.json"
tap_try "the same parameters" cmp "$w/1.pdiparams" "$w/11.pdiparams"
exits 0 "into the same file" "$w/11.json" -o "$w/12.json" -O2
exits 0 "every PIR version" "$unet" -o "$w/4.json" -O2 --pir-version 4
exits 0 "version 4 computes the same" verify "$w/4.json" --io "$unet/io.npz"

exits 0 "without parameters nothing is made of them" "$unet" -o "$w/n.json" -O2 --no-params
tap_is "$(grep -c _folded "$w/n.json")" 0 "no new parameters then"

exits 0 "--passes" "$unet" -o "$w/p.json" --passes in-place,cse --pass-stats
tap_is "$(sed -n 's/^\([a-z-]*\)  .*/\1/p' "$dir/out" | tr '\n' ' ')" "pass in-place cse " "a row for each pass"
exits 0 "--print-after" "$unet" -o "$w/q.json" -O1 --print-after dce
tap_is "$(grep -c '^; after dce$' "$dir/out")" 2 "the program is printed after each dce"
tap_is "$(grep -c '^pir version 4' "$dir/out")" 2 "as text"
exits 0 "--print-before" "$unet" -o "$w/q.json" --force --passes in-place,dce --print-before dce,in-place --print-after in-place
tap_is "$(grep '^; ' "$dir/out" | tr '\n' ' ')" "; before in-place ; after in-place ; before dce " "the program is printed before each, too"
tap_is "$(sed -n '/^; after in-place/,/^}/p' "$dir/out" | sed 1d)" "$(sed -n '/^; before dce/,/^}/p' "$dir/out" | sed 1d)" \
    "what is before a pass is what the one before it left"

# usage NAME PATTERN ARGUMENTS...: exit 2, a message, and no file
usage() {
    usage_name=$1
    pattern=$2
    shift 2
    exits 2 "$usage_name" "$@"
    says "$pattern" "$usage_name: the message"
    tap_is "$(left "$w" | tr ' ' '\n' | grep -c '^bad')" 0 "$usage_name: nothing is written"
}
usage "a pass that there is not" "'cs' is no pass.*" "$unet" -o "$w/bad.json" --passes dce,cs
says "cse, dce" "the passes are listed"
usage "to print after a pass that there is not" "'cs' is no pass" "$unet" -o "$w/bad.json" -O1 --print-after cs
usage "to print before a pass that there is not" "'cs' is no pass" "$unet" -o "$w/bad.json" -O1 --print-before cs
usage "another level" "-O3 does not exist" "$unet" -o "$w/bad.json" -O3
usage "to print a program and JSON" "exclude each other" "$unet" -o "$w/bad.json" -O1 --print-after all --format json
usage "to keep the version" "exclude each other" "$w/1.json" -o "$w/bad.json" -O1 --keep-version
tap_done

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
tap_done

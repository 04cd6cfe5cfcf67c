#!/bin/sh
# pdmigrate graph: subgraphs in text, JSON and DOT, and extracted as models.
. "${srcdir:?}/tests/cli/cli.sh"
net=$cases/op_net__transformer_layer

exits 0 "a summary" graph "$net"
tap_is "$(tail -n 1 "$dir/out")" "31 of 38 ops in 5 subgraphs; 42 nodes in the main graph" \
    "its last line"
tap_is "$(grep -c '^subgraph ' "$dir/out")" 5 "a line for each subgraph"

exits 0 "as JSON" graph --format json "$net"
is_json "$dir/out" "JSON is JSON"
tap_is "$(json_get "$dir/out" 'sum(len(s["ops"]) for s in j["subgraphs"])')" 31 "JSON: ops"
tap_is "$(json_get "$dir/out" 'j["subgraphs"][3]["inputs"]')" \
    "['dropout_5.tmp_0', 'linear_5.w_0', 'linear_5.b_0']" "JSON: inputs"
keys=$(json_get "$dir/out" '[s["key"] for s in j["subgraphs"]]')
exits 0 "once more" graph --format json "$net"
tap_is "$(json_get "$dir/out" '[s["key"] for s in j["subgraphs"]]')" "$keys" \
    "keys are the same in every run"

exits 0 "--allow" graph --format json --allow 'matmul_v2;softmax' --deny softmax "$net"
tap_is "$(json_get "$dir/out" 'sorted(set(o for s in j["subgraphs"] for o in s["ops"]))')" \
    "['matmul_v2', 'softmax']" "--allow beats --deny"
exits 0 "--deny" graph --format json --deny matmul_v2,softmax "$net"
tap_is "$(json_get "$dir/out" '[o for s in j["subgraphs"] for o in s["ops"] if o in ("matmul_v2", "softmax")]')" \
    "[]" "--deny takes types out"
exits 0 "--skip-gc" graph --format json --skip-gc linear_11.tmp_0,linear_10.tmp_0 "$net"
tap_is "$(json_get "$dir/out" '[n for s in j["subgraphs"] for n in s["outputs"] if n.startswith("linear_1")]')" \
    "['linear_10.tmp_0', 'linear_11.tmp_0', 'linear_11.tmp_1']" "--skip-gc keeps variables"
exits 0 "names that change nothing" graph --skip-gc no_such_name --deny softmax,no_such_type "$net"
says "there is no variable 'no_such_name' to keep" "--skip-gc of nothing is told"
says "no op is of the type 'no_such_type' that is denied" "--deny of nothing is told"
exits 0 "an allow list for another model" graph --allow 'conv9d;fetch' "$net"
says "no op is of the type 'conv9d' that is allowed" "--allow of nothing is told"
says "no subgraph can have ops of the type 'fetch'" "--allow of what is not lowered is told"
exits 2 "a PIR model" graph "$srcdir/fixtures/samples/conv_bn.json"
exits 2 "--dot and --extract" graph --dot --extract "$dir/w/x" "$net"
exits 0 "a training program" graph "$cases/flow_sgd_train_raw"

# In place: batch_norm writes its own statistics.
exits 0 "in place, by default" graph --format json "$cases/op_net__resnet_block"
tap_is "$(json_get "$dir/out" 'any("batch_norm" in s["ops"] for s in j["subgraphs"])')" False \
    "batch_norm stays in the main program"
exits 0 "--in-place" graph --format json --in-place "$cases/op_net__resnet_block"
tap_is "$(json_get "$dir/out" 'any("batch_norm" in s["ops"] for s in j["subgraphs"])')" True \
    "--in-place takes batch_norm in"

# The picture is one that Graphviz draws: each cluster has its colour, feeds and fetches their shapes.
exits 0 "--dot" graph --dot "$net"
cp "$dir/out" "$dir/graph.dot"
if command -v dot >"$dir/null"; then
    tap_try "dot draws it" dot -Tsvg "$dir/graph.dot" -o "$dir/graph.svg"
    tap_is "$(grep -c 'class="cluster"' "$dir/graph.svg")" 5 "a box for each subgraph"
    tap_is "$(grep -A 2 'class="cluster"' "$dir/graph.svg" | grep -o 'fill="#[0-9a-f]*"' | sort -u | wc -l)" 5 \
        "each in a colour of its own"
    tap_is "$(grep -c 'class="node"' "$dir/graph.svg")" "$(grep -c '^  [ms][0-9_]* \[' "$dir/graph.dot")" \
        "every node is declared"
    tap_is "$(grep -c 'fill="#bbf7d0"' "$dir/graph.svg")" 2 "feeds are drawn apart"
    tap_is "$(grep -c 'fill="#fecaca"' "$dir/graph.svg")" 1 "fetches are drawn apart"
else
    tap_skip "drawing" "graphviz is not installed"
fi

# Each part converts, runs, and is the same as the legacy part.
exits 0 "--extract" graph --extract "$dir/w/parts" "$net"
tap_is "$(left "$dir/w/parts" | wc -w)" 5 "a folder for each subgraph"
for part in "$dir"/w/parts/*; do
    name=$(basename "$part")
    exits 0 "$name converts" "$part" -o "$part/new/"
    exits 0 "$name verifies" verify "$part" "$part/new"
done
exits 2 "--extract again" graph --extract "$dir/w/parts" "$net"
rm -r "$dir/w/parts/subgraph_0"
exits 2 "--extract where a later subgraph is in the way" graph --extract "$dir/w/parts" "$net"
tap_try "nothing was written then" test ! -e "$dir/w/parts/subgraph_0"
exits 0 "--extract --force" graph --force --extract "$dir/w/parts" "$net"
exits 5 "--extract below a file" graph --extract "$net/model.pdmodel/x" "$net"
cp "$net/model.pdmodel" "$dir/w/alone.pdmodel"
exits 5 "--extract without parameters" graph --extract "$dir/w/none" "$dir/w/alone.pdmodel"
tap_done

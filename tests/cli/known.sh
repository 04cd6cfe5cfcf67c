#!/bin/sh
# pdmigrate verify: differences on purpose between Paddle 2.6 and 3.x are named, and only those.
. "${srcdir:?}/tests/cli/cli.sh"

explained() { # CASE DIFFERENCE OP: against the record, against the legacy program, converted
    case=$cases/$1
    exits 1 "$1 differs from the record" verify "$case" --io "$case/io.npz"
    tap_try "$1: it is explained" grep -q "^known .*" "$dir/out"
    tap_try "$1: by the op" grep -q "Explained by .*: $2, by $3 " "$dir/out"
    tap_try "$1: the last line tells the option" grep -q -e "1 of 1 differences.*(--allow-known takes" "$dir/out"
    exits 0 "$1: and can be allowed" verify "$case" --io "$case/io.npz" --allow-known
    run "$case" -o "$dir/w/$1.json"
    exits 1 "$1: a converted model" verify "$case" "$dir/w/$1.json" --io "$case/io.npz" --format json
    tap_is "$(json_get "$dir/out" '[(c["explained"], c["causes"][0]["difference"]) for c in j["comparisons"] if not c["equal"]]')" \
        "[(True, '$2')]" "$1: as JSON"
    exits 1 "$1: JUnit" verify "$case" --io "$case/io.npz" --format junit
    tap_try "$1: JUnit names the kind" grep -q 'type="known-difference".*Explained by' "$dir/out"
    exits 0 "$1: JUnit, allowed" verify "$case" --io "$case/io.npz" --format junit --allow-known
    tap_try "$1: JUnit has no failure then" grep -q 'failures="0"' "$dir/out"
    exits 0 "$1: HTML" verify "$case" --io "$case/io.npz" --html "$dir/w/r.html" --force --allow-known
    tap_try "$1: HTML has the reason" grep -q 'class="known">known difference.*Explained by' "$dir/w/r.html"
}

explained op_elementwise_max__nan nan-extremes pd_op.maximum
explained op_elementwise_min__nan nan-extremes pd_op.minimum
explained op_reduce_max__nan nan-extremes pd_op.max
explained op_weight_quantize__int8 half-rounding pd_op.weight_quantize

# What the numbers are compared with does not matter.
python3 - "$cases/op_elementwise_max__nan/io.npz" "$dir/in.npz" <<'PY'
import sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as z, zipfile.ZipFile(sys.argv[2], "w") as out:
    for n in z.namelist():
        if n.startswith("in:"):
            out.writestr(n, z.read(n))
PY
exits 1 "inputs only" verify "$cases/op_elementwise_max__nan" --io "$dir/in.npz"
tap_try "the legacy program is the judge" grep -q "agree with the legacy program" "$dir/out"
tap_try "and it is explained" grep -q "nan-extremes, by pd_op.maximum (elementwise_max, block 0" "$dir/out"

# A fault beside a known difference is not explained by it.
max=$cases/op_elementwise_max__nan
for fault in minimum multiply; do
    sed "s/1\\.maximum/1.$fault/" "$dir/w/op_elementwise_max__nan.json" >"$dir/w/$fault.json"
    exits 1 "a fault: $fault" verify "$max" "$dir/w/$fault.json" --io "$max/io.npz" --allow-known
    tap_try "a fault is none: $fault" grep -q "^DIFF " "$dir/out"
done
tap_try "what has part in it is told all the same" sh -c "'$PDMIGRATE' verify '$max' '$dir/w/minimum.json' --io '$max/io.npz' |
    grep -q 'have part in it, but are not all: nan-extremes, by pd_op.minimum'"

# Two PIR models are both of 3.x.
exits 1 "two PIR models" verify "$dir/w/op_elementwise_max__nan.json" "$dir/w/minimum.json" --io "$dir/in.npz" --allow-known
tap_try "nothing is known there" sh -c "! grep -q 'known differences' '$dir/out'"

# Tolerances by op: PIR names and legacy types, for outputs that the op has part in.
leaky=$cases/op_leaky_relu__alpha
run "$leaky" -o "$dir/w/right.json"
sed 's/"D":0\.[0-9]*}/"D":0.75}/' "$dir/w/right.json" >"$dir/w/wrong.json"
for line in "leaky_relu float32 1e9 1e9:0" "pd_op.leaky_relu * 1e9 1e9:0" "relu * 1e9 1e9:1"; do
    echo "${line%:*}" >"$dir/tol.tsv"
    exits "${line##*:}" "op rule: $line" verify "$dir/w/wrong.json" --io "$leaky/io.npz" --dtype-tolerances "$dir/tol.tsv"
done
echo "elementwise_max * 1e9 1e9" >"$dir/tol.tsv"
exits 1 "the type of a legacy op" verify "$max" --io "$max/io.npz" --dtype-tolerances "$dir/tol.tsv"
tap_try "is known" sh -c "! grep -q 'no output' '$dir/err'"

# The table in the code and the one for people.
sed -n 's/^DIFFERENCE([A-Z_]*, "\([^"]*\)", "\([^"]*\)", "\([^"]*\)", "\([^"]*\)", "\([^"]*\)", "\([^"]*\)")$/| \1 | \2 | \3 | \4 | \5 | \6 |/p' \
    "$srcdir/src/exec/differences.def" >"$dir/table"
tap_is "$(wc -l <"$dir/table")" "$(grep -c '^DIFFERENCE(' "$srcdir/src/exec/differences.def")" "the table can be read"
tap_is "$(grep -cxFf "$dir/table" "$srcdir/docs/verify.md")" "$(wc -l <"$dir/table")" "the table is documented"
tap_done

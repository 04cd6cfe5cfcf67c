#!/bin/sh
# Replays every fitting file of the tree through each fuzz harness: a point per harness and kind of
# run. A harness built with libFuzzer also searches for PDM_FUZZ_RUNS executions (default 20000).
set -u
: "${srcdir:?set by make check}" "${builddir:?set by make check}"
. "$srcdir/tests/tap/tap.sh"
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

# replay NAME FIND-EXPRESSION...: the seeds are what the expression finds, and the harness's own folder.
replay() {
    name=$1
    shift
    fuzz=$builddir/tests/fuzz/$name
    if [ ! -x "$fuzz" ]; then
        tap_ok 1 "$name was built"
        return
    fi
    find "$srcdir/fixtures" -type f -size -1024k \( "$@" \) >"$dir/list"
    [ ! -d "$srcdir/tests/fuzz/seeds/$name" ] ||
        find "$srcdir/tests/fuzz/seeds/$name" -type f >>"$dir/list"
    count=$(wc -l <"$dir/list")
    if [ "$count" -eq 0 ]; then
        tap_ok 1 "$name has seeds"
        return
    fi
    tap_try "$name replays $count inputs" xargs -a "$dir/list" -d '\n' "$fuzz"

    grep -q LLVMFuzzerRunDriver "$fuzz" || return
    mkdir -p "$dir/corpus" "$dir/found"
    head -n 200 "$dir/list" | xargs -d '\n' cp --backup=numbered -t "$dir/corpus"
    runs=$((${PDM_FUZZ_RUNS:-20000} / share))
    tap_try "$name searches with $runs executions" "$fuzz" -runs="$runs" -max_len=65536 -timeout=10 \
        -rss_limit_mb=1024 -artifact_prefix="$dir/found/" -print_final_stats=1 "$dir/corpus"
    # What was found is worth keeping: it is the next seed.
    for input in "$dir"/found/*; do
        [ -f "$input" ] || continue
        cp "$input" "$builddir/tests/fuzz/"
        tap_note "kept as $builddir/tests/fuzz/${input##*/}"
    done
    rm -rf "$dir/corpus" "$dir/found"
}

share=1
replay fuzz_pdmodel -name '*.pdmodel' -o -name __model__
replay fuzz_graph -name '*.pdmodel' -o -name __model__
replay fuzz_params -name '*.pdiparams' -o -name __params__
replay fuzz_json -name '*.json'
replay fuzz_text -name '*.pir.txt'
share=20 # a run takes as long as some of the others
replay fuzz_compile -name '*.pir.txt'
tap_done

#!/bin/sh
# The main paths under valgrind: the unit tests, and conversions of small models.
#   tests/valgrind.sh BUILD-FOLDER
set -u
srcdir=$(cd "$(dirname "$0")/.." && pwd) || exit 1
. "$srcdir/tests/tap/tap.sh"
build=$(cd "${1:?usage: tests/valgrind.sh BUILD-FOLDER}" && pwd) || exit 1
command -v valgrind >/dev/null || tap_skip_all "valgrind is not installed"
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

vg="valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite,possible"

# The unit tests two at a time, without those that repeat themselves at length (tag "long"; sanitizers have them).
tests=
for test in "$build"/tests/unit/check_*; do
    case $test in *.log | *.trs | *.o) continue ;; esac
    [ -x "$test" ] && tests="$tests ${test##*/}"
done
# shellcheck disable=SC2016,SC2086 # expanded by the inner shell; lists of words
printf '%s\n' $tests | env srcdir="$srcdir" builddir="$build" CK_FORK=no CK_TIMEOUT_MULTIPLIER=20 CK_EXCLUDE_TAGS=long \
    xargs -P 2 -I '{}' sh -c "$vg '$build/tests/unit/{}' >'$dir/{}.out' 2>&1; echo \$? >'$dir/{}.status'"
for test in $tests; do
    status=$(cat "$dir/$test.status")
    tap_ok "$status" "unit tests: $test"
    [ "$status" -eq 0 ] || tap_note "$(tail -n 50 "$dir/$test.out")"
done

# One of each kind: plain, parameters, control flow, decomposed; and models that must be refused.
program=$build/src/cli/pdmigrate
for name in op_conv2d__groups flow_while_with_cond_inside report_default_attrs_left_out \
    op_nearest_interp__scale2; do
    model=$srcdir/fixtures/cases/$name
    # shellcheck disable=SC2086
    tap_try "convert $name" $vg "$program" "$model" -o "$dir/$name.json"
    # shellcheck disable=SC2086
    tap_try "show $name" $vg "$program" show "$model" --text
done
for model in "$srcdir"/fixtures/cases/bad_*; do
    name=${model##*/}
    # shellcheck disable=SC2086
    output=$($vg "$program" "$model" -o "$dir/$name.json" 2>&1)
    status=$?
    # 99 is valgrind, from 124 on it is a signal or a timeout.
    if [ $status -lt 99 ]; then
        tap_ok 0 "refuse or convert $name (exit $status)"
    else
        tap_ok 1 "refuse or convert $name (exit $status)"
        tap_note "$output"
    fi
done
# Runs: a layer, loops and branches, arrays, LoD; with threads; translated with either kernels, and as they are.
runs=
for name in cases/op_conv2d__groups cases/op_net__lstm_sentiment_lod cases/flow_while_with_cond_inside \
    cases/op_lod_tensor_to_array__roundtrip cases-own/flow_param_written_in_branch_unread models/branchy_loop; do
    [ -f "$srcdir/fixtures/$name/io.npz" ] && runs="$runs $srcdir/fixtures/$name"
done
for how in --fast --json --legacy --launch; do
    # shellcheck disable=SC2086
    tap_try "run samples, $how" $vg "$build/tests/tools/pdm-run" $how --threads 2 $runs
done
tap_done

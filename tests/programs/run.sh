#!/bin/sh
# Random programs with fixed seeds, and those that failed once: reference kernels, passes and the compiler agree. What was drawn and compiled is
# counted, for a search that compiles nothing finds nothing; and a fault that was planted is found and made small.
set -u
: "${srcdir:?set by make check}" "${builddir:?set by make check}"
. "$srcdir/tests/tap/tap.sh"
run=$builddir/tests/programs/pdm-programs
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
PDM_CACHE=off
export PDM_CACHE

# agrees TITLE OPTIONS...: the output is left in $dir/out.
agrees() {
    title=$1
    shift
    "$run" "$@" >"$dir/out" 2>&1
    tap_ok $? "$title"
    grep -v -e ': pass ' -e '^pd_op' -e '^builtin' -e '^cf' "$dir/out" | head -n 40 | sed 's/^/# /'
}

# Ops that must have been in groups, and how often: of each kind one or a few.
least() {
    cat <<'END'
pd_op.abs 20
pd_op.add 150
pd_op.batch_norm 10
pd_op.cast 80
pd_op.clip 15
pd_op.equal 3
pd_op.expand 15
pd_op.flatten 6
pd_op.layer_norm 5
pd_op.less_than 10
pd_op.max 15
pd_op.mean 15
pd_op.multiply 60
pd_op.relu 25
pd_op.reshape 20
pd_op.scale 60
pd_op.sin 20
pd_op.slice 20
pd_op.softmax 20
pd_op.sum 35
pd_op.tanh 120
pd_op.transpose 70
pd_op.unsqueeze 12
pd_op.where 20
END
}

agrees "random programs, passes and interpreted loops" --seeds 1-300 --ways O2,passes,ref,ref-single,fast --stats --check --reduce 10
least >"$dir/least"
tap_is "$(awk 'NR == FNR { grouped[$1] = $3; next } grouped[$1] + 0 < $2 { print $1, "was in groups", grouped[$1] + 0, "times, not", $2 }' \
    "$dir/out" "$dir/least")" "" "each kind of op was in groups"
tap_is "$(awk '/^ref: .* of .* runs compiled/ { sub(/.* kernels, /, ""); if ($1 < 3000 || $1 < 0.95 * $3) print }' "$dir/out")" "" \
    "nearly all groups were run by compiled code"
for op in if while conv2d matmul pool2d gather concat split; do
    tap_ok "$(awk -v op="pd_op.$op" '$1 == op && $2 >= 15 { found = 1 } END { print !found }' "$dir/out")" "$op was drawn"
done

if [ "$PDM_SANITIZERS" = no ]; then
    agrees "many random programs, passes and interpreted loops" --seeds 100001-101000 --ways O2,passes,ref,fast --reduce 10
else
    tap_skip "many random programs" "builds without sanitizers run them"
fi

agrees "programs that failed once" --ways O2,passes,ref,ref-single,fast "$srcdir"/tests/programs/kept/*.pir

if [ "$PDM_LLVM" = no ]; then
    tap_skip "code made by LLVM" "built without LLVM"
else
    agrees "random programs, code made by LLVM" --seeds 1001-1040 --ways llvm --reduce 10
    agrees "programs that failed once, code made by LLVM" --ways llvm-single "$srcdir"/tests/programs/kept/*.pir
fi
agrees "programs that run at once, in one process" --seeds 1-15 --ways ref --ops 20 --together
if [ "$PDM_LLVM" = no ]; then
    tap_skip "processes that compile at once" "built without LLVM"
else
    for i in 1 2 3; do
        PDM_CACHE='' PDM_CACHE_DIR=$dir/cache "$run" --seeds 16-27 --ways llvm --ops 20 --together >"$dir/out.$i" 2>&1 || cp "$dir/out.$i" "$dir/bad" &
    done
    wait
    [ ! -e "$dir/bad" ] && [ "$(find "$dir/cache" -type f | wc -l)" -gt 20 ]
    tap_ok $? "processes that compile at once, with one folder for code"
    [ ! -e "$dir/bad" ] || sed 's/^/# /' "$dir/bad"
fi
if [ "$PDM_SANITIZERS" = no ]; then
    agrees "random programs, CUDA C run as C" --seeds 1-6 --ways cuda --ops 20 --reduce 10
else
    tap_skip "random programs, CUDA C run as C" "it is the same in builds without sanitizers"
fi

mkdir "$dir/kept"
"$run" --seeds 1-40 --ways faulty --reduce 10 --keep "$dir/kept" >"$dir/out" 2>&1
tap_is "$?" 1 "a fault is found"
left=$(sed -n 's/^# seed [0-9]*: \([0-9]*\) ops are left.*/\1/p' "$dir/out" | sort -n | head -n 1)
tap_ok "$([ "${left:-99}" -le 3 ]; echo $?)" "and made small: ${left:-no} ops are left"
tap_ok "$("$run" --ways faulty "$dir"/kept/*.pir >/dev/null 2>&1; [ $? -eq 1 ]; echo $?)" "what was kept shows it again"
tap_done

#!/bin/sh
# Runs the cases and models of the fixtures with groups of ops compiled: what gives the record without must give it with,
# and nearly all groups must have been run by compiled code. With --single each op that can be is compiled.
set -u
: "${srcdir:?set by make check}" "${builddir:?set by make check}"
. "$srcdir/tests/tap/tap.sh"
. "$srcdir/tests/exec/folders.sh"
run=$builddir/tests/tools/pdm-run
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

recorded_folders >"$dir/folders"
least=$((400 / ${PDM_EVERY:-1})) # runs of groups that there must be

# outcome NAME OPTIONS...: into NAME.set a line for each input set, "ok" or "no" and its path.
outcome() {
    name=$1
    shift
    # shellcheck disable=SC2046 # a list of folders without blanks
    "$run" "$@" $(cat "$dir/folders") >"$dir/$name.out" 2>"$dir/$name.err"
    sed -n 's/^\(ok\|no\) \([^:]*\).*/\1 \2/p' "$dir/$name.out" | LC_ALL=C sort >"$dir/$name.set"
}

# compiled NAME TITLE OPTIONS...
compiled() {
    name=$1
    title=$2
    shift 2
    outcome "$name" "$@"
    tap_is "$(diff "$dir/plain.set" "$dir/$name.set"; cat "$dir/$name.err")" "" \
        "$title: the same sets give the record ($(tail -n 1 "$dir/$name.out"))"
    # Some cases are about LoD or shapes that do not fit: these are run op by op.
    share=$(awk -v least="$least" '/^compiled / { done += $(NF - 3); all += $(NF - 1) }
        END { printf "%d of %d", done, all; exit !(all > least && done >= 0.9 * all) }' "$dir/$name.out")
    tap_ok $? "$title: $share runs of groups were compiled"
}

# launched NAME TITLE OPTIONS...: subgraphs follow 3.x then, and what is around them 2.6. What gives the record in both ways must
# give it.
launched() {
    name=$1
    title=$2
    shift 2
    outcome "$name" --launch "$@"
    comm -12 "$dir/plain.set" "$dir/launch.set" | grep '^ok ' >"$dir/both.set"
    tap_is "$(comm -23 "$dir/both.set" "$dir/$name.set"; cat "$dir/$name.err")" "" \
        "$title: the same sets give the record ($(tail -n 1 "$dir/$name.out"))"
    share=$(awk -v least="$least" '/^compiled / { done += $(NF - 3); all += $(NF - 1) }
        END { printf "%d of %d", done, all; exit !(all > least && done >= 0.9 * all) }' "$dir/$name.out")
    tap_ok $? "$title: $share runs of groups were compiled"
}

outcome plain
tap_try "cases run" test -s "$dir/plain.set"
compiled ref "interpreted loops, single ops" --compile ref --single

# The kernels of all cases are gathered first, and compiled at once.
if [ "$PDM_SANITIZERS" = no ]; then
    compiled collect "loops as GPUs have them, interpreted" --collect "$dir/kernels" --single
    # shellcheck disable=SC2086 # CC may have options
    tap_try "$(grep -c ^PDM_KERNEL "$dir/kernels.cu") kernels in CUDA C are C as well" \
        ${CC:-cc} -w -O0 -std=gnu11 -fwrapv -ffp-contract=off -fPIC -shared -I"$srcdir/tests/tools" \
        -o "$dir/kernels.so" "$dir/kernels.c" -lm
    compiled cuda "CUDA C run by the emulator" --emulated "$dir/kernels.so" --single
else
    tap_skip "CUDA C run by the emulator" "it is the same in builds without sanitizers"
fi

if [ "$PDM_LLVM" = no ]; then
    tap_skip "code made by LLVM" "built without LLVM"
else
    compiled llvm "code made by LLVM, single ops" --compile llvm --single
fi

# What follows differs in how groups are formed and run, not in what kernels compute: each third folder will do.
awk 'NR % 3 == 0' "$dir/folders" >"$dir/few" && mv "$dir/few" "$dir/folders"
least=$((least / 4))
outcome plain
compiled ref-groups "interpreted loops, 2 threads" --compile ref --threads 2
outcome launch --launch
launched launch-ref "interpreted loops in launches" --compile ref
if [ "$PDM_SANITIZERS" = no ]; then
    # A device has memory of its own, and here a driver that stands in.
    PDM_CUDA=$builddir/tests/tools/.libs/fake-cuda.so
    if [ -e "$PDM_CUDA" ]; then
        export PDM_CUDA PDM_NVRTC="$PDM_CUDA" PDM_CUBLAS="$PDM_CUDA" PDM_CUDNN="$PDM_CUDA" PDM_FAKE_KERNELS="$dir/kernels.so" XDG_CACHE_HOME="$dir/cache"
        compiled device "groups on a device" --compile cuda --single
        compiled device-2 "groups on a device, 2 threads" --compile cuda --threads 2
        unset PDM_NVRTC PDM_CUBLAS PDM_CUDNN PDM_FAKE_KERNELS XDG_CACHE_HOME
    else
        tap_skip "groups on a device" "the driver that stands in is a shared library"
    fi
fi
if [ "$PDM_LLVM" != no ]; then
    compiled llvm-groups "code made by LLVM, 2 threads" --compile llvm --threads 2
    launched launch-llvm "code made by LLVM in launches" --compile llvm
fi
tap_done

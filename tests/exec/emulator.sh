#!/bin/sh
# The emulator of CUDA: what it computes, and that it finds each kind of fault (emulator.cu).
set -u
: "${srcdir:?set by make check}" "${builddir:?set by make check}"
. "$srcdir/tests/tap/tap.sh"

# Coroutines have stacks of their own, which sanitizers do not know.
if [ "$PDM_SANITIZERS" != no ]; then
    tap_skip "the emulator of CUDA" "it is the same in builds without sanitizers"
    tap_done
    exit 0
fi

# emulate KERNEL BLOCKS THREADS FLOATS...
emulate() {
    "$builddir/tests/tools/pdm-emulate" "$srcdir/tests/exec/emulator.cu" "$@" 2>&1
}
# gives RESULT ARGUMENTS...
gives() {
    want=$1
    shift
    tap_is "$(emulate "$@" | tail -n 1)" "$want" "$1 with $2 blocks of $3 threads"
}
# finds TEXT ARGUMENTS...
finds() {
    want=$1
    shift
    case $(emulate "$@") in
    *"$want"*) tap_ok 0 "$1: $want" ;;
    *) tap_is "$(emulate "$@")" "$want" "$1" ;;
    esac
}

gives "0 2 4 6 8 10" scale 2 3 6 6
gives "5 4 3 2 1 0" reverse 1 6 6
gives "$(for i in $(seq 32); do printf '496 '; done | sed 's/ $//')" warp_sum 1 32 32
tap_is "$(emulate shift 1 32 32 | cut -d' ' -f 1-4,31,32)" "30001 30102 30003 30104 32831 32931" "shift: lanes of others"
tap_is "$(emulate votes 1 32 32 | cut -d' ' -f 1,32)" "3 3" "votes"
gives "12" count 3 4 1
gives "0 334.318 668.635 1001" halves 1 4 4

finds "memory 'x' has 4 elements, number 4 is read" reads_beyond 1 4 4 4
finds "memory 'x' has 4 elements, number -1 is written" writes_before 1 4 4
finds "shared memory 'tile' has 32 elements, number 32 is written" shared_beyond 1 32 32
finds "threads race in shared memory 'tile'" no_second_barrier 1 64 64
finds "threads race in memory 'x'" races_in_memory 1 4 4
finds "threads race in memory 'x'" races_between_blocks 2 4 4
finds "threads race in memory 'x'" races_between_warps 1 64 64
gives "$(for i in $(seq 32); do printf '2 '; done | sed 's/ $//')" races_between_warps 1 32 32
finds "is read before it was written" no_barrier 1 64 64
finds "shared memory 'tile' is read before it was written" not_written 1 64 64
finds "do not come to the same barrier" some_do_not_come 1 32 32
finds "do not come to the same barrier" two_barriers 1 32 32
finds "do not come to the same shuffle" lanes_leave 1 32 32
finds "do not come to the same shuffle" other_shuffle 1 32 32
finds "a lane that is not in its mask" not_in_mask 1 32 32
tap_done

#!/bin/sh
# Runs folders with a model and its record through the emulator of GPUs, which takes too long for every day.
#
#   tests/exec/emulate.sh BUILD-FOLDER FOLDER...
#
# A line for each input set, how many runs of groups were kernels, and how many sets give the record.
set -u
srcdir=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
build=${1:?usage: tests/exec/emulate.sh BUILD-FOLDER FOLDER...}
shift
run=$build/tests/tools/pdm-run
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

"$run" --collect "$dir/kernels" "$@" >/dev/null # what does not give its record is told below
[ -s "$dir/kernels.c" ] || exit 1
# shellcheck disable=SC2086 # CC may have options
${CC:-cc} -w -O0 -std=gnu11 -fwrapv -ffp-contract=off -fPIC -shared -I"$srcdir/tests/tools" -o "$dir/kernels.so" "$dir/kernels.c" -lm || exit 1
"$run" --emulated "$dir/kernels.so" "$@"

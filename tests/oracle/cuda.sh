#!/bin/sh
# Whether NVRTC compiles every kernel: of all cases, as they are run, and of all models, for the shapes that they declare.
#
#   tests/oracle/cuda.sh PDMIGRATE
#
# PDM_NVRTC names the library. A line for each file that fails, and last `N passed, N failed, N skipped`.
set -u
here=$(cd "$(dirname "$0")" && pwd)
program=$1
srcdir=$(cd "$here/../.." && pwd)
tools=$(dirname "$program")/../../tests/tools
# shellcheck source=tests/exec/folders.sh
. "$srcdir/tests/exec/folders.sh"
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

# shellcheck disable=SC2046 # a list of folders without blanks
"$tools/pdm-run" --collect "$dir/cases" --single $(recorded_folders) >/dev/null 2>&1
# Products, convolutions and pooling outside of groups, as a device without libraries for them does them.
fake=$tools/.libs/fake-cuda.so
if [ -e "$fake" ]; then
    # shellcheck disable=SC2046 # a list of folders without blanks
    PDM_CUDA=$fake PDM_NVRTC=$fake PDM_FAKE_TEXTS=$dir/model-outside.cu PDM_CACHE=off "$tools/pdm-run" --compile cuda \
        $(recorded_folders | grep -E 'conv|pool|matmul|bmm|mul|_mv|unet_mini') >/dev/null 2>&1
fi
for model in "$srcdir"/fixtures/models/* "${PDM_MODELS:-$HOME/.cache/pdmigrate-models}"/*; do
    [ -d "$model" ] || continue
    "$program" show "$model" --no-params --kernel-source cuda >"$dir/model-$(basename "$model").cu" 2>/dev/null ||
        rm -f "$dir/model-$(basename "$model").cu"
done

passed=0
failed=0
judge() {
    "$tools/pdm-nvrtc" "$1" "$dir"/*.cu >"$dir/$1.out" 2>&1
}
judge sm_80 &
judge sm_90
wait
for arch in sm_80 sm_90; do
    tail -n 1 "$dir/$arch.out" | sed "s/\$/ ($(find "$dir" -name 'model-*.cu' | wc -l) models)/"
    sed '$d' "$dir/$arch.out" | head -n 40
    # "sm_80: N of M kernels"
    # shellcheck disable=SC2046 # two words
    set -- $(sed -n '$s/^sm_[0-9]*: \([0-9]*\) of \([0-9]*\) kernels$/\1 \2/p' "$dir/$arch.out")
    if [ $# -ne 2 ] || [ "$2" -lt 1000 ]; then
        failed=$((failed + 1))
    else
        passed=$((passed + $1))
        failed=$((failed + $2 - $1))
    fi
done
# Kernels of a whole model at once, as the command prints them.
for form in ptx cubin; do
    if "$program" show "$srcdir/fixtures/models/unet_mini" --no-params --kernel-source $form --arch sm_90 >"$dir/$form" &&
        case $form in
        ptx) grep -q '^\.target sm_90' "$dir/ptx" ;;
        *) [ "$(od -An -c -N4 "$dir/cubin" | tr -d ' ')" = '177ELF' ] ;;
        esac; then
        passed=$((passed + 1))
    else
        echo "show --kernel-source $form"
        failed=$((failed + 1))
    fi
done
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]

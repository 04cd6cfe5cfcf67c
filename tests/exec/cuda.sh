#!/bin/sh
# Groups on a GPU, with a driver and an NVRTC that stand in for those of NVIDIA (tests/tools/fake_cuda.c): where there is none, what
# is wrong, and what is copied.
set -u
: "${srcdir:?set by make check}" "${builddir:?set by make check}" "${PDMIGRATE:?set by make check}"
. "$srcdir/tests/tap/tap.sh"
fake=$builddir/tests/tools/.libs/fake-cuda.so
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
model=$srcdir/fixtures/cases/op_net__transformer_layer

if [ ! -e "$fake" ] || [ "$PDM_SANITIZERS" != no ]; then
    tap_skip "groups on a GPU" "there is no driver to stand in: it is a shared library, and runs coroutines"
    tap_done
    exit 0
fi
unset PDM_CACHE
export PDM_CUBLAS=/nowhere/libcublas.so PDM_CUDNN=/nowhere/libcudnn.so
export XDG_CACHE_HOME="$dir/cache"

# with CUDA NVRTC COMMAND...
with() {
    PDM_CUDA=$1 PDM_NVRTC=$2
    export PDM_CUDA PDM_NVRTC
    shift 2
    "$@" >"$dir/out" 2>"$dir/err"
}
says() {
    case $(cat "$dir/err" "$dir/out") in
    *"$1"*) tap_ok 0 "$2" ;;
    *) tap_is "$(cat "$dir/err" "$dir/out")" "$1" "$2" ;;
    esac
}

with "$fake" "$fake" "$PDMIGRATE" verify "$model" --io "$model/io.npz" --device cuda
tap_is $? 0 "a model gives its record on a device"
says "1 of 1 outputs agree" "which verify tells"
tap_is "$(cat "$dir/err")" "" "without a warning"

PDM_FAKE_REPORT=$dir/report with "$fake" "$fake" "$PDMIGRATE" run "$model" --io "$model/io.npz" --compile cuda --profile
says "copy to device" "copies to the device are in the profile"
says "copy from device" "and those from it"
tap_is "$(grep -c '^0 compiled, ' "$dir/report")" 1 "code was kept on disk"
tap_is "$(grep -c ', 1 from it, ' "$dir/report")" 1 "products are done there, too: nothing but the result is copied back"

# Products, convolutions and pooling outside of groups.
tools=$builddir/tests/tools
folders=
for case in conv2d__groups conv2d__nhwc conv2d__same_even conv2d_transpose__groups conv2d_transpose__outpad conv3d__k3 \
    depthwise_conv2d__s2_k5 pool2d__adaptive_avg pool2d__avg_ceil_pad_incl pool2d__neg_pad_max matmul__batch_bcast \
    matmul_v2__f64 mul__yncd2 addmm__f32; do
    folders="$folders $srcdir/fixtures/cases/op_$case"
done
# shellcheck disable=SC2086 # a list of folders without blanks
with "$fake" "$fake" "$tools/pdm-run" --compile cuda $folders "$srcdir/fixtures/models/unet_mini"
tap_is $? 0 "kernels that are made of loops for them give the record"
with "$fake" "$fake" "$PDMIGRATE" run "$model" --io "$model/io.npz" --compile cuda -v
says "products are done without cuBLAS: /nowhere/libcublas.so" "that cuBLAS is missing is told with -v"
rm -f "$dir/report"
# shellcheck disable=SC2086 # a list of folders without blanks
PDM_FAKE_REPORT=$dir/report PDM_CUBLAS=$fake PDM_CUDNN=$fake with "$fake" "$fake" "$tools/pdm-run" --compile cuda $folders \
    "$srcdir/fixtures/models/unet_mini" "$srcdir/fixtures/models/bert_tiny"
tap_is $? 0 "cuBLAS and cuDNN, as they stand in, give the record"
tap_try "that were calls of libraries" test "$(sed -n 's/.* \([0-9]*\) calls of libraries.*/\1/p' "$dir/report")" -ge 30
tap_is "$(grep -c ' 0 descriptors and events left' "$dir/report")" 1 "none of their descriptors is left"

with /nowhere/libcuda.so "$fake" "$PDMIGRATE" run "$model" --io "$model/io.npz" --compile cuda
tap_is $? 0 "without a driver the processor computes"
says "everything is computed by the processor: there is no CUDA driver: /nowhere/libcuda.so" "and a warning tells why"
with "$fake" /nowhere/libnvrtc.so "$PDMIGRATE" run "$model" --io "$model/io.npz" --compile cuda
says "NVRTC is missing" "without NVRTC, too"
PDM_FAKE_NO_DEVICE=1 with "$fake" "$fake" "$PDMIGRATE" run "$model" --io "$model/io.npz" --compile cuda
says "there is no CUDA device" "and without a device"

rm -rf "$dir/cache"
PDM_FAKE_REFUSE=1 with "$fake" "$fake" "$PDMIGRATE" verify "$model" --io "$model/io.npz" --compile cuda
tap_is $? 0 "what NVRTC refuses is run op by op"
says "refused for a test" "and told with what it said"
PDM_FAKE_MEMORY=1024 with "$fake" "$fake" "$PDMIGRATE" verify "$model" --io "$model/io.npz" --compile cuda
tap_is $? 0 "so is what a full device has no room for"
with "$fake" "$fake" "$PDMIGRATE" show "$model" --kernel-source ptx --arch sm_80
tap_try "PTX is printed" grep -q '^.target sm_80' "$dir/out"
with "$fake" "$fake" "$PDMIGRATE" show "$model" --kernel-source ptx --arch sm_999
tap_is $? 4 "not for what NVRTC does not know"
says "NVRTC refused kernels for compute_999" "which is told"
# Each call of a run is made to fail once: the answer is right, or says what failed.
export PDM_CUBLAS="$fake" PDM_CUDNN="$fake"
case=$srcdir/fixtures/cases/report_pad_reflect_conv
calls=0
bad=
: >"$dir/report"
while calls=$((calls + 1)) && [ $calls -lt 400 ]; do
    PDM_FAKE_FAIL=$calls PDM_FAKE_REPORT=$dir/report with "$fake" "$fake" "$PDMIGRATE" verify "$case" --io "$case/io.npz" --compile cuda
    code=$?
    grep -q 'fails for a test' "$dir/err" || break
    if [ $code -ge 5 ] || { [ $code -ne 0 ] && ! grep -q 'error: ' "$dir/err"; }; then
        bad="$bad $calls:$code"
    fi
done
tap_is "$bad" "" "each of $calls calls may fail"
tap_try "the last run is as if nothing had been" test $code -eq 0 -a $calls -gt 20 -a $calls -lt 400
tap_is "$(grep -vc ' 0 descriptors and events left' "$dir/report")" 0 "no descriptor is left after a failure"
for case in op_while__dynamic_rnn op_conditional_block__nested; do
    with "$fake" "$fake" "$PDMIGRATE" verify "$srcdir/fixtures/cases/$case" --io "$srcdir/fixtures/cases/$case/io.npz" --compile cuda
    tap_is $? 0 "$case: loops and branches read here what groups leave there"
done
tap_done

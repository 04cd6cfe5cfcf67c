/* Kernels that are right, and kernels with a fault that the emulator has to find (emulator.sh). */

PDM_KERNEL scale(const float *__restrict__ x, float *__restrict__ y)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    PDM_STORE(y, i, 2 * PDM_LOAD(x, i));
}

PDM_KERNEL reverse(float *__restrict__ x)
{
    PDM_SHARED(float, tile, 64);
    PDM_STORE(tile, threadIdx.x, PDM_LOAD(x, threadIdx.x));
    __syncthreads();
    PDM_STORE(x, threadIdx.x, PDM_LOAD(tile, blockDim.x - 1 - threadIdx.x));
}

PDM_KERNEL warp_sum(float *__restrict__ x)
{
    float sum = PDM_LOAD(x, threadIdx.x);
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, step);
    __syncwarp(0xffffffffu);
    PDM_STORE(x, threadIdx.x, sum);
}

PDM_KERNEL shift(float *__restrict__ x)
{
    const float down = __shfl_down_sync(0xffffffffu, PDM_LOAD(x, threadIdx.x), 1);
    const float up = __shfl_up_sync(0xffffffffu, PDM_LOAD(x, threadIdx.x), 2);
    const float first = __shfl_sync(0xffffffffu, PDM_LOAD(x, threadIdx.x), 3);
    PDM_STORE(x, threadIdx.x, down + 100 * up + 10000 * first);
}

PDM_KERNEL votes(float *__restrict__ x)
{
    const unsigned odd = __ballot_sync(0xffffffffu, threadIdx.x % 2);
    const bool some = __any_sync(0xffffffffu, threadIdx.x == 5), all = __all_sync(0xffffffffu, threadIdx.x < 31);
    PDM_STORE(x, threadIdx.x, (odd == 0xaaaaaaaau) + 2 * some + 4 * all);
}

PDM_KERNEL count(float *__restrict__ x)
{
    atomicAdd(x, 1.0f);
}

PDM_KERNEL halves(float *__restrict__ x)
{
    const float v = PDM_LOAD(x, threadIdx.x) / 3;
    const float h = pdm_half_to_float(pdm_float_to_half(v)), b = pdm_bfloat_to_float(pdm_float_to_bfloat(v));
    PDM_STORE(x, threadIdx.x, h + 1000 * b);
}

/* ---- faults ---------------------------------------------------------------------------------- */

PDM_KERNEL reads_beyond(const float *__restrict__ x, float *__restrict__ y)
{
    PDM_STORE(y, threadIdx.x, PDM_LOAD(x, threadIdx.x + 1));
}

PDM_KERNEL writes_before(float *__restrict__ x)
{
    PDM_STORE(x, (int)threadIdx.x - 1, 1);
}

PDM_KERNEL shared_beyond(float *__restrict__ x)
{
    PDM_SHARED(float, tile, 32);
    PDM_STORE(tile, 2 * threadIdx.x, 1);
    __syncthreads();
    PDM_STORE(x, threadIdx.x, PDM_LOAD(tile, threadIdx.x));
}

PDM_KERNEL no_barrier(float *__restrict__ x)
{
    PDM_SHARED(float, tile, 64);
    PDM_STORE(tile, threadIdx.x, PDM_LOAD(x, threadIdx.x));
    PDM_STORE(x, threadIdx.x, PDM_LOAD(tile, blockDim.x - 1 - threadIdx.x));
    __syncthreads();
}

PDM_KERNEL no_second_barrier(float *__restrict__ x)
{
    PDM_SHARED(float, tile, 64);
    for (int turn = 0; turn < 2; turn++) {
        PDM_STORE(tile, threadIdx.x, PDM_LOAD(x, threadIdx.x));
        __syncthreads();
        PDM_STORE(x, threadIdx.x, PDM_LOAD(tile, blockDim.x - 1 - threadIdx.x));
    }
}

PDM_KERNEL races_in_memory(float *__restrict__ x)
{
    PDM_STORE(x, threadIdx.x / 2, 1);
}

PDM_KERNEL races_between_blocks(float *__restrict__ x)
{
    PDM_STORE(x, threadIdx.x, 1);
}

PDM_KERNEL races_between_warps(float *__restrict__ x)
{
    PDM_STORE(x, threadIdx.x, 1);
    __syncwarp(0xffffffffu);
    PDM_STORE(x, blockDim.x - 1 - threadIdx.x, 2);
}

PDM_KERNEL not_written(float *__restrict__ x)
{
    PDM_SHARED(float, tile, 64);
    if (threadIdx.x > 0)
        PDM_STORE(tile, threadIdx.x, 1);
    __syncthreads();
    PDM_STORE(x, threadIdx.x, PDM_LOAD(tile, threadIdx.x));
}

PDM_KERNEL some_do_not_come(float *__restrict__ x)
{
    if (threadIdx.x < 7)
        return;
    PDM_STORE(x, threadIdx.x, 1);
    __syncthreads();
}

PDM_KERNEL two_barriers(float *__restrict__ x)
{
    if (threadIdx.x % 2)
        __syncthreads();
    else
        __syncthreads();
    PDM_STORE(x, threadIdx.x, 1);
}

PDM_KERNEL lanes_leave(float *__restrict__ x)
{
    if (threadIdx.x % 32 == 4)
        return;
    PDM_STORE(x, threadIdx.x, __shfl_xor_sync(0xffffffffu, 1.0f, 16));
}

PDM_KERNEL other_shuffle(float *__restrict__ x)
{
    float v = 1;
    if (threadIdx.x < 16)
        v = __shfl_xor_sync(0xffffffffu, v, 16);
    else
        v = __shfl_xor_sync(0xffffffffu, v, 8);
    PDM_STORE(x, threadIdx.x, v);
}

PDM_KERNEL not_in_mask(float *__restrict__ x)
{
    float v = 1;
    if (threadIdx.x < 16)
        v = __shfl_xor_sync(0x0000ffffu, v, 16);
    PDM_STORE(x, threadIdx.x, v);
}

/*
 * NVRTC, NVIDIA's compiler as a library: opened when it is first needed, so that the same binary runs
 * where there is none. PDM_NVRTC names it; else the usual names are looked for.
 */
#ifndef PDM_CINN_CUDA_NVRTC_H
#define PDM_CINN_CUDA_NVRTC_H

#include "base/buf.h"
#include "base/status.h"

/* Why there is none (text that stays); NULL: it can be used. */
const char *pdm_cinn_nvrtc_why_not(void);
/* 10 * major + minor; 0: there is none. */
int pdm_cinn_nvrtc_version(void);
/* The newest architecture that it makes code for, as 90 for sm_90; 0 when it does not tell. */
int pdm_cinn_nvrtc_newest(void);

/*
 * Compile CUDA C. arch: "sm_80" for code of the machine, "compute_80" for PTX. quick: with few
 * optimizations, if it can. *out_code is malloc'ed. PDM_UNSUPPORTED: it was refused; what it said is
 * in log, which may be NULL.
 */
PDM_MUST_USE pdm_status pdm_cinn_nvrtc_compile(const pdm_buf *text, const char *arch, bool quick,
                                               pdm_buf *log, void **out_code, size_t *out_size);

#endif

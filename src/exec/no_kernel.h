/* Why ops have no kernel. Threads: any. */
#ifndef PDM_EXEC_NO_KERNEL_H
#define PDM_EXEC_NO_KERNEL_H

/* The reason as a clause; NULL when the tables know none: the op has a kernel, or nobody knows it. */
const char *pdm_no_kernel_reason(const char *op);

#endif

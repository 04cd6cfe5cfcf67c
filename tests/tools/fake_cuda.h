/* What the parts of the library that stands in for those of NVIDIA know of each other. */
#ifndef PDM_TESTS_FAKE_CUDA_H
#define PDM_TESTS_FAKE_CUDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define API __attribute__((visibility("default")))

/* Tells what was wrong; gives the code. */
int fake_wrong(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Memory of the process behind an address of the device, with at least so many bytes; NULL, told: there is none. */
void *fake_memory(const char *what, const void *address, uint64_t bytes);
/* Whether this thread may call, and a stream is one. */
bool fake_may_call(const char *what, const void *stream);
/* Counted for the report. */
extern unsigned long fake_library_calls, fake_library_objects;
/* Whether PDM_FAKE_FAIL has this call fail. */
bool fake_fails(const char *what);

#endif

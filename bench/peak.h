/* The most memory of this process that was resident. */
#ifndef PDM_BENCH_PEAK_H
#define PDM_BENCH_PEAK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* VmHWM and not what getrusage tells, which begins with the peak of whoever started this program. */
static inline long peak_kib(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    long kib = 0;

    while (file && fgets(line, sizeof line, file)) {
        if (!strncmp(line, "VmHWM:", 6))
            kib = strtol(line + 6, NULL, 10);
    }
    if (file)
        fclose(file);
    return kib;
}

#endif

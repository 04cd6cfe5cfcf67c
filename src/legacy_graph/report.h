/*
 * Shared by the reader and the checker: diagnostics with the place in the program, and the status
 * that all of them together amount to (a sink may be NULL, so it cannot be asked). Internal to this
 * folder; caller storage, one thread.
 */
#ifndef PDM_LG_REPORT_H
#define PDM_LG_REPORT_H

#include "base/diag.h"

typedef struct pdm_lg_report {
    pdm_diag_sink *sink;
    pdm_loc loc;
    pdm_status worst;
} pdm_lg_report;

/* An invalid model outweighs an unsupported one. */
static inline void pdm_lg_report_merge(pdm_lg_report *report, pdm_status status)
{
    if (status == PDM_OK || report->worst == PDM_INVALID_MODEL)
        return;
    report->worst = status;
}

/* Emit at report->loc with the variable, slot or attribute var (NULL: none). */
#define PDM_LG_REPORT(report, code, var_, ...)                                                     \
    do {                                                                                           \
        pdm_loc report_loc_ = (report)->loc;                                                       \
        report_loc_.var = (var_);                                                                  \
        pdm_lg_report_merge((report),                                                              \
                            pdm_diag((report)->sink, (code), &report_loc_, NULL, __VA_ARGS__));    \
    } while (0)

#endif

/* Inside of the PIR JSON writer. */
#ifndef PDM_IR_PIR_JSON_WRITE_H
#define PDM_IR_PIR_JSON_WRITE_H

#include "ir/ir.h"

/* Report all of a module that a file for Paddle cannot hold: PDM_OK if there is nothing. */
PDM_MUST_USE pdm_status pdm_ir_json_check(const pdm_ir_module *module, pdm_diag_sink *sink);

#endif

/* Inside of the text form: names that the printer and the parser share. */
#ifndef PDM_IR_TEXT_NAMES_H
#define PDM_IR_TEXT_NAMES_H

#include "ir/text.h"

#define PDM_IR_TEXT_NUM_PLACES 10

extern const char *const pdm_ir_text_types[];  /* by pdm_ir_type_kind; "" for element types */
extern const char *const pdm_ir_text_places[]; /* by kind number of a place; NULL: none */

static inline bool pdm_ir_text_word_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static inline bool pdm_ir_text_word_char(char c)
{
    return pdm_ir_text_word_start(c) || (c >= '0' && c <= '9') || c == '.' || c == '@';
}

/* Bare where it is a word, else quoted. */
void pdm_ir_print_word(const char *text, pdm_buf *buf);

#endif

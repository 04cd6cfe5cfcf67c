/* Dims as text. */
#include "ir/dim.h"

static void print_list(pdm_dim e, const char *name, pdm_buf *buf)
{
    pdm_buf_puts(buf, name);
    for (uint32_t i = 0; i < e->num_args; i++) {
        pdm_buf_puts(buf, i ? ", " : "(");
        pdm_dim_print(e->args[i], buf);
    }
    pdm_buf_putc(buf, ')');
}

/* As a factor or divisor: sums in parentheses, quotients too. */
static void print_tight(pdm_dim e, pdm_buf *buf, bool divisor)
{
    const bool loose = e->kind == PDM_DIM_SUM || e->kind == PDM_DIM_DIV ||
                       (divisor && e->kind == PDM_DIM_PRODUCT);

    if (loose)
        pdm_buf_putc(buf, '(');
    pdm_dim_print(e, buf);
    if (loose)
        pdm_buf_putc(buf, ')');
}

static void print_sum(pdm_dim e, pdm_buf *buf)
{
    for (uint32_t i = 0; i < e->num_args; i++) {
        const bool minus = e->coefs[i] < 0;
        const uint64_t size = minus ? 0 - (uint64_t)e->coefs[i] : (uint64_t)e->coefs[i];
        pdm_buf_puts(buf, i == 0 ? (minus ? "-" : "") : minus ? " - " : " + ");
        if (size != 1)
            pdm_buf_printf(buf, "%llu*", (unsigned long long)size);
        if (size != 1)
            print_tight(e->args[i], buf, false);
        else
            pdm_dim_print(e->args[i], buf);
    }
    if (e->number > 0)
        pdm_buf_printf(buf, " + %lld", (long long)e->number);
    else if (e->number < 0)
        pdm_buf_printf(buf, " - %llu", (unsigned long long)(0 - (uint64_t)e->number));
}

void pdm_dim_print(pdm_dim e, pdm_buf *buf)
{
    if (!e) {
        pdm_buf_putc(buf, '?');
        return;
    }
    switch (e->kind) {
    case PDM_DIM_INT:
        pdm_buf_i64(buf, e->number);
        return;
    case PDM_DIM_SYMBOL:
        pdm_buf_putc(buf, 'S');
        pdm_buf_i64(buf, e->number);
        return;
    case PDM_DIM_PRODUCT:
        for (uint32_t i = 0; i < e->num_args; i++) {
            if (i)
                pdm_buf_putc(buf, '*');
            print_tight(e->args[i], buf, false);
        }
        return;
    case PDM_DIM_SUM:
        print_sum(e, buf);
        return;
    case PDM_DIM_DIV:
        print_tight(e->args[0], buf, false);
        pdm_buf_puts(buf, " / ");
        print_tight(e->args[1], buf, true);
        return;
    case PDM_DIM_MAX:
        print_list(e, "max", buf);
        return;
    case PDM_DIM_MIN:
        print_list(e, "min", buf);
        return;
    case PDM_DIM_BROADCAST:
        print_list(e, "broadcast", buf);
        return;
    }
}

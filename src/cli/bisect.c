/* What --bisect prints. */
#include "bisect.h"

#include <inttypes.h>
#include <math.h>

#include "report.h"

/* ---- text ------------------------------------------------------------------------------------ */

static void text_tensor(FILE *out, const char *head, const pdm_bisect_tensor *t)
{
    fprintf(out, "  %-8s %s", head, t->role ? t->role : "");
    if (t->op)
        fprintf(out, " = %s", t->op);
    if (t->variable)
        fprintf(out, ", variable '%s'", t->variable);
    if (!t->dtype) {
        fputc('\n', out);
        return;
    }
    fprintf(out, ": %s[", t->dtype);
    for (size_t i = 0; i < t->rank; i++)
        fprintf(out, "%s%" PRId64, i ? ", " : "", t->dims[i]);
    fprintf(out, "] min %.9g, max %.9g, mean %.9g", t->min, t->max, t->mean);
    if (t->nans)
        fprintf(out, ", %" PRIu64 " NaN", t->nans);
    if (t->infs)
        fprintf(out, ", %" PRIu64 " infinite", t->infs);
    fputc('\n', out);
}

static void text_comparison(FILE *out, const pdm_bisection *b)
{
    const pdm_comparison *c = &b->comparison;

    text_tensor(out, "expected", &b->expected);
    text_tensor(out, "actual", &b->actual);
    if (c->reason && (c->reason[0] == 's' || c->reason[0] == 'd'))
        fprintf(out, "  another %s\n", c->reason);
    else
        fprintf(out,
                "  %" PRIu64 " of %" PRIu64
                " values beyond the tolerance, max abs %.3g, max rel %.3g"
                "; expected %.9g, got %.9g\n",
                c->mismatches, c->count, c->max_abs, c->max_rel, c->expected, c->actual);
}

static void text_legacy(FILE *out, const pdm_bisection *b)
{
    fputs("  legacy   ", out);
    if (b->op_index >= 0)
        fprintf(out, "op '%s' (block %d, op %d)", b->op_type, (int)b->block, (int)b->op_index);
    if (b->variable)
        fprintf(out, "%svariable '%s'", b->op_index >= 0 ? ", " : "", b->variable);
    fputc('\n', out);
}

void cli_bisect_text(FILE *out, const pdm_bisection *b)
{
    if (!b->found) {
        fprintf(out, "bisect: %s and %s give the same numbers%s\n", b->reference, b->subject,
                b->differs ? " within the program, and others in the end"
                           : ": what they are compared with does not come from them");
        return;
    }
    fprintf(out, "bisect: %s and %s part at %s of %s\n", b->reference, b->subject, b->result,
            b->op);
    fprintf(out, "  place    %s\n", b->place);
    if (b->op_index >= 0 || b->variable)
        text_legacy(out, b);
    if (b->why && b->why[0])
        fprintf(out, "  why      %s\n", b->why);
    if (b->instance)
        fprintf(out, "  it was the same %" PRIu64 " times before\n", b->instance);
    for (size_t i = 0; i < b->num_inputs; i++)
        text_tensor(out, "input", &b->inputs[i]);
    if (b->compared)
        text_comparison(out, b);
    if (b->num_origins > 1)
        fprintf(out, "  differences begin at %zu ops from which wrong outputs follow\n",
                b->num_origins);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* JSON has no infinity and no NaN. */
static void json_number(FILE *out, double value)
{
    if (isfinite(value))
        fprintf(out, "%.17g", value);
    else
        fprintf(out, "\"%s\"", isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
}

static void key_text(FILE *out, const char *key, const char *text)
{
    fprintf(out, ", \"%s\": ", key);
    cli_json_string(out, text);
}

static void key_number(FILE *out, const char *key, double value)
{
    fprintf(out, ", \"%s\": ", key);
    json_number(out, value);
}

static void json_tensor(FILE *out, const pdm_bisect_tensor *t)
{
    fputs("{\"role\": ", out);
    cli_json_string(out, t->role);
    key_text(out, "op", t->op);
    key_text(out, "variable", t->variable);
    key_text(out, "dtype", t->dtype);
    fputs(", \"shape\": [", out);
    for (size_t i = 0; i < t->rank; i++)
        fprintf(out, "%s%" PRId64, i ? ", " : "", t->dims[i]);
    fprintf(out, "], \"count\": %" PRIu64 ", \"nan\": %" PRIu64 ", \"inf\": %" PRIu64, t->count,
            t->nans, t->infs);
    key_number(out, "min", t->min);
    key_number(out, "max", t->max);
    key_number(out, "mean", t->mean);
    fputc('}', out);
}

static void json_comparison(FILE *out, const pdm_bisection *b)
{
    const pdm_comparison *c = &b->comparison;

    fputs(", \"expected\": ", out);
    json_tensor(out, &b->expected);
    fputs(", \"actual\": ", out);
    json_tensor(out, &b->actual);
    key_text(out, "reason", c->reason);
    fprintf(out, ", \"count\": %" PRIu64 ", \"mismatches\": %" PRIu64, c->count, c->mismatches);
    key_number(out, "max_abs", c->max_abs);
    key_number(out, "max_rel", c->max_rel);
}

void cli_bisect_json(FILE *out, const pdm_bisection *b)
{
    fprintf(out, "{\"found\": %s, \"differs\": %s", b->found ? "true" : "false",
            b->differs ? "true" : "false");
    key_text(out, "reference", b->reference);
    key_text(out, "subject", b->subject);
    if (b->found) {
        key_text(out, "op", b->op);
        key_text(out, "counterpart", b->counterpart);
        key_text(out, "place", b->place);
        key_text(out, "why", b->why);
        key_text(out, "result", b->result);
        fprintf(out, ", \"instance\": %" PRIu64 ", \"origins\": %zu", b->instance, b->num_origins);
        fprintf(out, ", \"legacy\": {\"block\": %d, \"op_index\": %d", (int)b->block,
                (int)b->op_index);
        key_text(out, "op", b->op_type);
        key_text(out, "variable", b->variable);
        fputs("}, \"inputs\": [", out);
        for (size_t i = 0; i < b->num_inputs; i++) {
            fputs(i ? ", " : "", out);
            json_tensor(out, &b->inputs[i]);
        }
        fputc(']', out);
        if (b->compared)
            json_comparison(out, b);
    }
    fputc('}', out);
}

/* The result of verify as text and as JSON. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bisect.h"
#include "verify.h"

bool verify_agrees(const verify_row *row)
{
    return verify_reason(row) == NULL;
}

const char *verify_reason(const verify_row *row)
{
    return row->missing         ? "missing"
           : row->result.reason ? row->result.reason
           : row->lod           ? "lod"
                                : NULL;
}

size_t verify_count_different(const verify_result *result)
{
    size_t count = 0;

    for (size_t i = 0; i < result->num_rows; i++)
        count += !verify_agrees(&result->rows[i]);
    return count;
}

bool verify_is_wrong(const verify_result *result, const verify_row *row)
{
    return !verify_agrees(row) && !(result->allow_known && row->explained);
}

size_t verify_count_wrong(const verify_result *result)
{
    size_t count = 0;

    for (size_t i = 0; i < result->num_rows; i++)
        count += verify_is_wrong(result, &result->rows[i]);
    return count;
}

void verify_row_deinit(verify_row *row)
{
    free(row->name);
    free(row->type);
    free(row->wanted_type);
    free(row->lod);
    free(row->causes);
}

/* ---- why ------------------------------------------------------------------------------------- */

static void print_op(FILE *out, const pdm_parting *cause)
{
    fputs(cause->op, out);
    if (!cause->legacy_type)
        return;
    fprintf(out, " (%s, block %" PRId32 ", op %" PRId32, cause->legacy_type, cause->block,
            cause->op_index);
    if (cause->var)
        fprintf(out, ", '%s'", cause->var);
    fputc(')', out);
}

/* A known difference, and the ops that showed it. */
static void print_difference(FILE *out, const verify_row *row, size_t difference)
{
    const pdm_parting *first = NULL;
    pdm_known_difference known;
    size_t more = 0;

    for (size_t i = 0; i < row->num_causes; i++) {
        if (row->causes[i].difference != difference)
            continue;
        more += first != NULL;
        first = first ? first : &row->causes[i];
    }
    if (!first || pdm_known_difference_get(difference, &known) != PDM_OK)
        return;
    fprintf(out, " %s, by ", known.id);
    print_op(out, first);
    if (more > 0)
        fprintf(out, " and %zu more op%s", more, more > 1 ? "s" : "");
    fprintf(out, " (when %s; 2.6: %s; 3.x: %s).", known.when, known.before, known.now);
}

void verify_explain(FILE *out, const verify_row *row)
{
    const char *sep = "";

    if (row->kernels) {
        fputs("With the reference kernels the output agrees: the fast kernels differ.", out);
        sep = " ";
    }
    if (row->random_op && !row->explained) {
        fprintf(out, "%s%s draws random numbers; those of a record made elsewhere are others.", sep,
                row->random_op);
        sep = " ";
    }
    if (row->num_causes == 0)
        return;
    fprintf(out, "%s%s", sep,
            row->explained
                ? "Explained by known differences between Paddle 2.6 and 3.x:"
                : "Known differences between Paddle 2.6 and 3.x have part in it, but are not all:");
    for (size_t i = 0; i < pdm_known_difference_count(); i++)
        print_difference(out, row, i);
}

/* Whether verify_explain has something to say. */
static bool has_reasons(const verify_row *row)
{
    return row->kernels || row->num_causes > 0 || (row->random_op && !row->explained);
}

/* ---- words ----------------------------------------------------------------------------------- */

void verify_markup(FILE *out, void (*print)(FILE *out, const verify_row *row),
                   const verify_row *row)
{
    char *text = NULL;
    size_t size;
    FILE *memory = open_memstream(&text, &size);

    if (!memory)
        return;
    print(memory, row);
    if (fclose(memory) == 0)
        cli_markup(out, text);
    free(text);
}

const char *verify_set_name(const verify_result *result, size_t set, char text[64])
{
    const verify_set *s = &result->sets[set];

    if (s->io)
        return s->io;
    if (s->draw == 0)
        return "random inputs";
    snprintf(text, 64, "random inputs, draw %zu", s->draw + 1);
    return text;
}

void verify_print_place(FILE *out, const verify_row *row)
{
    uint64_t rest = row->result.worst;
    int64_t index[16];

    for (size_t i = row->rank; i-- > 0;) {
        const uint64_t dim = row->dims[i] > 0 ? (uint64_t)row->dims[i] : 1;
        index[i] = (int64_t)(rest % dim);
        rest /= dim;
    }
    fputc('[', out);
    for (size_t i = 0; i < row->rank; i++)
        fprintf(out, "%s%" PRId64, i ? ", " : "", index[i]);
    fputc(']', out);
}

void verify_describe(FILE *out, const verify_row *row)
{
    const pdm_comparison *c = &row->result;

    if (row->missing) {
        fputs("only one side has this output", out);
    } else if (row->wanted_type) {
        fprintf(out, "%s expected", row->wanted_type);
    } else if (c->reason) {
        if (c->mismatches > 0)
            fprintf(out, "%" PRIu64 " of %" PRIu64 " values differ", c->mismatches, c->count);
        else
            fprintf(out, "the cosine %.9g is below %.9g", c->cosine, row->tolerance.min_cosine);
        fputs(", the worst at ", out);
        verify_print_place(out, row);
        fprintf(out, ": expected %.9g, got %.9g", c->expected, c->actual);
    }
    if (row->lod)
        fprintf(out, "%s%s", row->missing || c->reason ? "; " : "", row->lod);
}

/* ---- text ------------------------------------------------------------------------------------ */

static void print_row(FILE *out, const verify_row *row)
{
    const pdm_comparison *c = &row->result;

    fprintf(out, "%-5s %s %s",
            verify_agrees(row) ? "ok"
            : row->explained   ? "known"
                               : "DIFF",
            row->name, row->type);
    if (!row->missing && !row->wanted_type)
        fprintf(out, "  max abs %.3g, max rel %.3g, ulp %" PRIu64 ", cosine %.9g", c->max_abs,
                c->max_rel, c->max_ulp, c->cosine);
    fputc('\n', out);
    if (!verify_agrees(row)) {
        fputs("      ", out);
        verify_describe(out, row);
        fputc('\n', out);
    }
    if (has_reasons(row)) {
        fputs("      ", out);
        verify_explain(out, row);
        fputc('\n', out);
    }
}

void verify_print_text(FILE *out, const verify_result *result)
{
    size_t explained = 0, told = SIZE_MAX;
    char text[64];

    for (size_t i = 0; i < result->num_rows; i++) {
        const verify_row *row = &result->rows[i];
        /* Of further random inputs only what differs. */
        if (result->sets[row->set].draw > 0 && row->set > 0 && verify_agrees(row))
            continue;
        if (told != row->set)
            fprintf(out, "%s\n", verify_set_name(result, row->set, text));
        told = row->set;
        print_row(out, row);
        explained += row->explained;
    }
    fprintf(out, "%zu of %zu outputs agree with %s",
            result->num_rows - verify_count_different(result), result->num_rows,
            result->against ? result->against : "nothing");
    if (result->num_sets > 1)
        fprintf(out, " (%zu sets of inputs)", result->num_sets);
    fputc('\n', out);
    if (explained > 0)
        fprintf(out, "%zu of %zu differences are explained by known differences%s\n", explained,
                verify_count_different(result),
                result->allow_known ? "" : " (--allow-known takes those as right)");
    if (result->bisection)
        cli_bisect_text(out, result->bisection);
    else if (result->options->has[OPT_BISECT] && verify_count_different(result) > 0)
        fputs("bisect: recorded outputs tell no values in between: give the legacy model too, as "
              "pdmigrate verify MODEL NEW\n",
              out);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* JSON has no infinity and no NaN. */
static void json_number(FILE *out, const char *key, double value)
{
    if (isfinite(value))
        fprintf(out, ", \"%s\": %.17g", key, value);
    else
        fprintf(out, ", \"%s\": \"%s\"", key, isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
}

static void json_text(FILE *out, const char *key, const char *text)
{
    fprintf(out, ", \"%s\": ", key);
    cli_json_string(out, text);
}

static void json_causes(FILE *out, const verify_row *row)
{
    pdm_known_difference known;

    fputs(", \"causes\": [", out);
    for (size_t i = 0; i < row->num_causes; i++) {
        const pdm_parting *cause = &row->causes[i];
        if (pdm_known_difference_get(cause->difference, &known) != PDM_OK)
            continue;
        fputs(i ? ", {\"difference\": " : "{\"difference\": ", out);
        cli_json_string(out, known.id);
        json_text(out, "op", cause->op);
        json_text(out, "legacy_type", cause->legacy_type);
        json_text(out, "var", cause->var);
        if (cause->legacy_type)
            fprintf(out, ", \"block\": %" PRId32 ", \"op_index\": %" PRId32, cause->block,
                    cause->op_index);
        fputc('}', out);
    }
    fputc(']', out);
}

static void json_row(FILE *out, const verify_result *result, const verify_row *row)
{
    char text[64];
    const pdm_comparison *c = &row->result;

    fputs("{\"io\": ", out);
    cli_json_string(out, result->sets[row->set].io);
    json_text(out, "inputs", verify_set_name(result, row->set, text));
    json_text(out, "output", row->name);
    json_text(out, "type", row->type);
    json_text(out, "expected_type",
              row->wanted_type ? row->wanted_type
              : row->missing   ? NULL
                               : row->type);
    fprintf(out, ", \"equal\": %s", verify_agrees(row) ? "true" : "false");
    json_text(out, "reason", verify_reason(row));
    fprintf(out,
            ", \"count\": %" PRIu64 ", \"mismatches\": %" PRIu64 ", \"max_ulp\": %" PRIu64
            ", \"worst\": %" PRIu64,
            c->count, c->mismatches, c->max_ulp, c->worst);
    json_number(out, "max_abs", c->max_abs);
    json_number(out, "max_rel", c->max_rel);
    json_number(out, "cosine", c->cosine);
    json_number(out, "expected", c->expected);
    json_number(out, "actual", c->actual);
    json_number(out, "rtol", row->tolerance.rtol);
    json_number(out, "atol", row->tolerance.atol);
    json_text(out, "lod", row->lod);
    fprintf(out, ", \"explained\": %s, \"fast_kernels\": %s", row->explained ? "true" : "false",
            row->kernels ? "true" : "false");
    json_text(out, "random_op", row->random_op);
    json_causes(out, row);

    fputs(", \"histogram\": [", out);
    for (size_t i = 0; i < PDM_COMPARISON_BINS; i++)
        fprintf(out, "%s%" PRIu64, i ? ", " : "", c->histogram[i]);
    fputs("]}", out);
}

void verify_print_json(FILE *out, const verify_result *result)
{
    json_text(out, "model", result->options->model);
    json_text(out, "new", result->options->other);
    json_text(out, "against", result->against);
    fprintf(out, ", \"wrong\": %zu, \"comparisons\": [", verify_count_wrong(result));
    for (size_t i = 0; i < result->num_rows; i++) {
        fputs(i ? ", " : "", out);
        json_row(out, result, &result->rows[i]);
    }
    fputc(']', out);
    if (result->options->has[OPT_BISECT]) {
        fputs(", \"bisect\": ", out);
        if (result->bisection)
            cli_bisect_json(out, result->bisection);
        else
            fputs("null", out);
    }
}

/* The result of verify in the XML that CI servers read as test results. */
#include "verify.h"

static void attribute(FILE *out, const char *name, const char *text)
{
    fprintf(out, " %s=\"", name);
    cli_markup(out, text);
    fputc('"', out);
}

static void print_case(FILE *out, const verify_result *result, const verify_row *row)
{
    fputs("    <testcase", out);
    attribute(out, "classname", result->options->model);
    attribute(out, "name", row->name);
    fputs(" time=\"0\">\n", out);
    if (verify_is_wrong(result, row)) {
        fputs("      <failure", out);
        attribute(out, "type", row->explained ? "known-difference" : verify_reason(row));
        fputs(" message=\"", out);
        verify_markup(out, verify_describe, row);
        fputs("\">", out);
        verify_markup(out, verify_explain, row);
        fputs("</failure>\n", out);
    }
    fprintf(out, "      <system-out>");
    cli_markup(out, row->type);
    if (!row->missing && !row->wanted_type)
        fprintf(out, ", max abs %.3g, max rel %.3g, ulp %llu, cosine %.9g, rtol %g, atol %g",
                row->result.max_abs, row->result.max_rel, (unsigned long long)row->result.max_ulp,
                row->result.cosine, row->tolerance.rtol, row->tolerance.atol);
    if (!verify_is_wrong(result, row) && !verify_agrees(row)) {
        fputs(". ", out);
        verify_markup(out, verify_describe, row);
        fputs(". ", out);
        verify_markup(out, verify_explain, row);
    }
    fputs("</system-out>\n    </testcase>\n", out);
}

static void print_set(FILE *out, const verify_result *result, size_t set)
{
    size_t tests = 0, failures = 0;
    char text[64];

    for (size_t i = 0; i < result->num_rows; i++) {
        tests += result->rows[i].set == set;
        failures += result->rows[i].set == set && verify_is_wrong(result, &result->rows[i]);
    }
    fputs("  <testsuite", out);
    attribute(out, "name", verify_set_name(result, set, text));
    fprintf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"0\" time=\"%.3f\">\n", tests, failures,
            result->sets[set].seconds);
    for (size_t i = 0; i < result->num_rows; i++) {
        if (result->rows[i].set == set)
            print_case(out, result, &result->rows[i]);
    }
    fputs("  </testsuite>\n", out);
}

void verify_print_junit(FILE *out, const verify_result *result)
{
    const int errors = result->failure != NULL;
    double seconds = 0;

    for (size_t i = 0; i < result->num_sets; i++)
        seconds += result->sets[i].seconds;
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"pdmigrate verify\"", out);
    fprintf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"%d\" time=\"%.3f\">\n",
            result->num_rows + (size_t)errors, verify_count_wrong(result), errors, seconds);
    for (size_t i = 0; i < result->num_sets; i++)
        print_set(out, result, i);
    if (errors) {
        fputs("  <testsuite name=\"run\" tests=\"1\" failures=\"0\" errors=\"1\" time=\"0\">\n"
              "    <testcase",
              out);
        attribute(out, "classname", result->options->model);
        fputs(" name=\"run\" time=\"0\">\n      <error", out);
        fprintf(out, " type=\"exit %d\"", result->exit_code);
        attribute(out, "message", result->failure);
        fputs("/>\n    </testcase>\n  </testsuite>\n", out);
    }
    fputs("</testsuites>\n", out);
}

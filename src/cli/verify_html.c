/* The result of verify as one HTML file: no scripts, nothing from elsewhere. */
#include <inttypes.h>
#include <math.h>

#include "verify.h"

static const char style[] =
    ":root { color-scheme: light dark; --ink: #1a1a1a; --paper: #fff; --line: #ccc; --ok: #1a7f37;"
    " --bad: #b3261e; --known: #8a5a00; --bar: #4a78c2; }\n"
    "@media (prefers-color-scheme: dark) { :root { --ink: #e6e6e6; --paper: #161616; --line: #444;"
    " --ok: #57c279; --bad: #ff7b72; --known: #e3b341; --bar: #7ba7ee; } }\n"
    "body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);"
    " margin: 2em auto; max-width: 75em; padding: 0 1em; }\n"
    "table { border-collapse: collapse; width: 100%; }\n"
    "th, td { border: 1px solid var(--line); padding: .3em .5em; text-align: left;"
    " vertical-align: top; overflow-wrap: anywhere; }\n"
    "td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }\n"
    ".ok { color: var(--ok); } .known { color: var(--known); }"
    " .bad { color: var(--bad); font-weight: bold; }\n"
    "svg { max-width: 100%; } svg text { fill: var(--ink); font: 10px sans-serif; }\n"
    "svg rect { fill: var(--bar); } svg rect.last { fill: var(--bad); }\n"
    "svg line { stroke: var(--line); }\n";

/* ---- histograms ------------------------------------------------------------------------------ */

enum { BAR = 44, HEIGHT = 90, FLOOR = 110 };

static void bin_name(FILE *out, size_t bin)
{
    if (bin == 0)
        fputs("0", out);
    else if (bin == 1)
        fputs("&lt;1e-12", out);
    else if (bin == PDM_COMPARISON_BINS - 1)
        fputs("nan", out);
    else
        fprintf(out, "1e%d", (int)bin - 14);
}

/* Heights by logarithm: one value among a million is to be seen. */
static void print_histogram(FILE *out, const verify_row *row)
{
    const uint64_t *bins = row->result.histogram;
    uint64_t most = 1;

    for (size_t i = 0; i < PDM_COMPARISON_BINS; i++)
        most = bins[i] > most ? bins[i] : most;
    fprintf(out, "<svg role=\"img\" width=\"%d\" height=\"130\" viewBox=\"0 0 %d 130\"><title>",
            PDM_COMPARISON_BINS * BAR, PDM_COMPARISON_BINS * BAR);
    cli_markup(out, row->name);
    fprintf(
        out,
        ": number of values by |difference|</title><line x1=\"0\" y1=\"%d\" x2=\"%d\" y2=\"%d\"/>",
        FLOOR, PDM_COMPARISON_BINS * BAR, FLOOR);
    for (size_t i = 0; i < PDM_COMPARISON_BINS; i++) {
        const int left = (int)i * BAR;
        if (bins[i] > 0) {
            const double height = (1 + log((double)bins[i])) / (1 + log((double)most)) * HEIGHT;
            fprintf(out,
                    "<rect%s x=\"%d\" y=\"%.1f\" width=\"%d\" height=\"%.1f\"><title>%" PRIu64
                    " values</title></rect>",
                    i == PDM_COMPARISON_BINS - 1 ? " class=\"last\"" : "", left + 2, FLOOR - height,
                    BAR - 4, height, bins[i]);
            fprintf(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"middle\">%" PRIu64 "</text>",
                    left + BAR / 2, FLOOR - height - 3, bins[i]);
        }
        fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">", left + BAR / 2, FLOOR + 14);
        bin_name(out, i);
        fputs("</text>", out);
    }
    fputs("</svg>\n", out);
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void print_row(FILE *out, const verify_row *row)
{
    const pdm_comparison *c = &row->result;
    const bool compared = !row->missing && !row->wanted_type;

    fprintf(out, "<tr><td class=\"%s\">%s</td><td>",
            verify_agrees(row) ? "ok"
            : row->explained   ? "known"
                               : "bad",
            verify_agrees(row) ? "agrees"
            : row->explained   ? "known difference"
                               : "differs");
    cli_markup(out, row->name);
    fputs("</td><td>", out);
    cli_markup(out, row->type);
    if (compared)
        fprintf(out,
                "</td><td class=\"n\">%.3g</td><td class=\"n\">%.3g</td><td class=\"n\">%" PRIu64
                "</td><td class=\"n\">%.9g</td><td class=\"n\">%" PRIu64 " of %" PRIu64
                "</td><td class=\"n\">%g / %g</td><td>",
                c->max_abs, c->max_rel, c->max_ulp, c->cosine, c->mismatches, c->count,
                row->tolerance.rtol, row->tolerance.atol);
    else
        fputs("</td><td colspan=\"6\"></td><td>", out);
    verify_markup(out, verify_describe, row);
    fputs(" ", out);
    verify_markup(out, verify_explain, row);

    fputs("</td></tr>\n", out);
}

static void print_set(FILE *out, const verify_result *result, size_t set)
{
    char text[64];

    fputs("<h2>", out);
    cli_markup(out, verify_set_name(result, set, text));
    fputs("</h2>\n<table>\n<thead><tr><th>result</th><th>output</th><th>type</th>"
          "<th class=\"n\">max abs</th><th class=\"n\">max rel</th><th class=\"n\">ULP</th>"
          "<th class=\"n\">cosine</th><th class=\"n\">mismatches</th>"
          "<th class=\"n\">rtol / atol</th><th>what differs</th></tr></thead>\n<tbody>\n",
          out);
    for (size_t i = 0; i < result->num_rows; i++) {
        if (result->rows[i].set == set)
            print_row(out, &result->rows[i]);
    }
    fputs("</tbody>\n</table>\n", out);
    for (size_t i = 0; i < result->num_rows; i++) {
        const verify_row *row = &result->rows[i];
        if (row->set != set || row->missing || row->wanted_type || row->result.count == 0)
            continue;
        fputs("<h3>", out);
        cli_markup(out, row->name);
        fputs("</h3>\n", out);
        print_histogram(out, row);
    }
}

void verify_print_html(FILE *out, const verify_result *result)
{
    const size_t different = verify_count_different(result);

    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
          out);
    cli_markup(out, result->options->model);
    fprintf(out, ": verified</title>\n<style>\n%s</style>\n</head>\n<body>\n<h1>", style);
    cli_markup(out, result->options->model);
    fputs("</h1>\n<p>", out);
    if (result->options->other) {
        fputs("Compared with ", out);
        cli_markup(out, result->options->other);
        fputs(". ", out);
    }
    if (result->failure) {
        fputs("<span class=\"bad\">The run failed:</span> ", out);
        cli_markup(out, result->failure);
        fputs("</p>\n<p>", out);
    }
    fprintf(out, "<span class=\"%s\">%zu of %zu outputs agree</span> with ",
            different > 0 || result->failure ? "bad" : "ok", result->num_rows - different,
            result->num_rows);
    cli_markup(out, result->against ? result->against : "nothing");
    fprintf(out,
            ". pdmigrate %s</p>\n<p>Histograms: number of values by |difference|; bars by "
            "logarithm; a bin begins at the number below it.</p>\n",
            pdm_version());
    for (size_t i = 0; i < result->num_sets; i++)
        print_set(out, result, i);
    fputs("</body>\n</html>\n", out);
}

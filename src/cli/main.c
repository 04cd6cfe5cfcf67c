/* pdmigrate, the program: options, signals, and the way from a status to an exit code. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"

static volatile sig_atomic_t interrupted, computing, in_json;
static timer_t deadline; /* made when something is computed for the first time */
static bool has_deadline;

/* How long a run may take to notice an interrupt: nothing looks while one kernel computes. */
enum { GRACE_MS = 25 };

static void set_deadline(long ms)
{
    const struct itimerspec when = {.it_value.tv_nsec = ms * 1000000};

    if (has_deadline)
        timer_settime(deadline, 0, &when, NULL);
}

static void on_interrupt(int signal_number)
{
    (void)signal_number;
    interrupted = 1;
    if (computing)
        set_deadline(GRACE_MS);
}

static void say(int file, const char *text)
{
    const char *end = text;

    while (*end)
        end++;
    if (write(file, text, (size_t)(end - text)) < 0)
        return;
}

/* While something is computed no file is half written, so that the process may just end. */
static void on_deadline(int signal_number)
{
    (void)signal_number;
    if (!computing)
        return;
    if (in_json)
        say(STDOUT_FILENO, "{\"status\": \"interrupted\", \"exit_code\": 130, \"diagnostics\": []}\n");
    else
        say(STDERR_FILENO, "\npdmigrate: error: interrupted\n");
    _exit(CLI_EXIT_INTERRUPTED);
}

void cli_compute_begin(const cli_report *report)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
    struct sigaction action = {0};

    action.sa_handler = on_deadline;
    sigemptyset(&action.sa_mask);
    if (!has_deadline && sigaction(SIGALRM, &action, NULL) == 0)
        has_deadline = timer_create(CLOCK_MONOTONIC, &event, &deadline) == 0;
    in_json = report->json;
    computing = 1;
    if (interrupted)
        set_deadline(GRACE_MS);
}

void cli_compute_end(void)
{
    computing = 0;
    set_deadline(0);
}

bool cli_interrupted(void *user)
{
    (void)user;
    return interrupted != 0;
}

/* The first interrupt ends the work in good order, a second one at once. */
static void catch_interrupt(void)
{
    struct sigaction old, action = {0};

    action.sa_handler = on_interrupt;
    action.sa_flags = SA_RESETHAND;
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGINT, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
        sigaction(SIGINT, &action, NULL);
}

typedef int (*command_fn)(pdm_context *, const cli_options *, cli_report *);

static const command_fn commands[CLI_NUM_COMMANDS] = {
#define CMD(code, name, run, args, summary) run,
#include "cmds.def"
#undef CMD
};

static pdm_status set_cache(const cli_options *options)
{
    const pdm_cache_options cache = {.size = sizeof cache,
                                     .folder = options->arg[OPT_CACHE_DIR],
                                     .off = options->has[OPT_NO_CACHE]};

    return cache.folder || cache.off ? pdm_cache_set(&cache) : PDM_OK;
}

static int run(const cli_options *options, cli_report *report)
{
    const pdm_context_options context_options = {
        .size = sizeof context_options,
        .on_diagnostic = cli_report_diagnostic,
        .user = report,
        .verbose = options->has[OPT_VERBOSE],
        .cancelled = cli_interrupted,
    };
    pdm_context *context = NULL;
    pdm_status status = pdm_context_create(&context_options, &context);

    if (status == PDM_OK)
        status = set_cache(options);
    if (status != PDM_OK) {
        pdm_context_destroy(context);
        return cli_failed(report, status);
    }
    const int code = commands[options->command](context, options, report);
    pdm_context_destroy(context);
    return code;
}

static int answer(const cli_options *options, cli_report *report)
{
    const char *form = options->arg[OPT_HELP];

    if (options->has[OPT_HELP] && form)
        (strcmp(form, "bash") ? cli_print_man : cli_print_completion)(stdout);
    else if (options->has[OPT_HELP])
        cli_print_help(stdout, options->command);
    else if (options->has[OPT_VERSION])
        printf("pdmigrate %s\n", pdm_version());
    else
        return run(options, report);
    return CLI_EXIT_OK;
}

int main(int argc, char **argv)
{
    cli_report report;
    cli_options options;
    int code;

    catch_interrupt();
    if (!cli_report_init(&report)) {
        fputs("pdmigrate: error: out of memory\n", stderr);
        return CLI_EXIT_INTERNAL;
    }
    code = cli_parse(argc, argv, &report, &options);
    if (code == CLI_EXIT_OK) {
        code = answer(&options, &report);
    } else if (report.json) {
        cli_json_begin(code, cli_commands[options.command].name);
        cli_json_end(&report);
    }
    errno = 0;
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "pdmigrate: error: standard output cannot be written%s%s\n", errno ? ": " : "", errno ? strerror(errno) : "");
        code = code == CLI_EXIT_OK ? CLI_EXIT_IO : code;
    }
    cli_options_deinit(&options);
    cli_report_deinit(&report);
    return code;
}

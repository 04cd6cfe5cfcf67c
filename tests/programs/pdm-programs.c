/*
 * pdm-programs [--seeds FIRST-LAST] [--ways WAY,...] [--ops N] [--large N] [--keep FOLDER] [--reduce SECONDS] [--print SEED]
 *              [--together] [--stats] [--check] [FILE...]
 *
 * Random programs, and those that were kept: each is run with reference kernels, and in each way (judge.h; default: O2, passes,
 * ref, fast), and must compute the same. One that does not, crashes or takes too long is made small, written to FOLDER/WAY-SEED.pir (the
 * standard error without one), and told with the command that runs it again. Programs run in processes of their own, many in one.
 *
 *   --seeds   random programs of these seeds; a FILE is a program that was kept, and run in the ways too
 *   --ops     at most so many ops (60)
 *   --large   every so many programs one has large dims (40; 0: none)
 *   --together  programs of seeds that follow each other are compiled and run at once, by threads, and compared with themselves alone
 *   --print   print the program of a seed
 *   --stats   print how often each op was drawn, and how often it was in a group; what passes did, and how often
 *   --check   it is a failure when an op that the compiler has a rule for was in no group, or a pass did nothing
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cinn/group.h"
#include "judge.h"
#include "reduce.h"
#include "faulty.h"
#include "tools/emulated.h"

enum { MAX_WAYS = 16, CHUNK = 200, TIME_LIMIT = 60, MAX_KINDS = 4096 }; /* TIME_LIMIT: seconds of a processor for a way */

typedef struct shared { /* with the processes that run programs */
    judge_stats ways[MAX_WAYS];
    uint64_t seed; /* at hand */
    int way;
    uint64_t failures;
    struct {
        uint64_t drawn, grouped;
    } kinds[MAX_KINDS]; /* by op code */
} shared;

typedef struct settings {
    uint64_t first, last;
    judge_way ways[MAX_WAYS];
    int num_ways, max_ops, large, seconds;
    const char *keep;
    bool stats, check, together;
    shared *shared;
} settings;

static program_form form_of(const settings *s, uint64_t seed)
{
    return (program_form){.max_ops = s->max_ops, .large = s->large > 0 && seed % (uint64_t)s->large == 7};
}

/* Of the processor, and ten times as long by the clock, should something wait for ever; 0: none. */
static void limit_time(int seconds)
{
    const struct itimerval limit = {.it_value.tv_sec = seconds};

    (void)setitimer(ITIMER_PROF, &limit, NULL);
    alarm((unsigned)seconds * 10);
}

/* ---- failures -------------------------------------------------------------------------------- */

/* How a program ends in a way, in a process of its own: 0 same, 1 differs, 2 invalid, 100 and more: a signal. */
static int end_of(const program *p, const judge_way *way, uint64_t seed, char *text, size_t size)
{
    char *told = mmap(NULL, 1024, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int status = 0;

    if (told == MAP_FAILED)
        return 2;
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        judge_stats stats = {0};
        limit_time(TIME_LIMIT);
        const judge_result result = judge_program(p, way, seed, &stats, told, 1024);
        _exit(result == JUDGE_DIFFERS ? 1 : result == JUDGE_INVALID || stats.failing > stats.dead ? 2 : 0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        status = 2 << 8;
    snprintf(text, size, "%s", told);
    munmap(told, 1024);
    if (WIFSIGNALED(status)) {
        if (WTERMSIG(status) == SIGPROF || WTERMSIG(status) == SIGALRM)
            snprintf(text, size, "takes too long");
        else
            snprintf(text, size, "ends with signal %d", WTERMSIG(status));
        return 100 + WTERMSIG(status);
    }
    return WEXITSTATUS(status);
}

typedef struct failure {
    const judge_way *way;
    uint64_t seed;
    int end;
    char text[1024]; /* of the last one that failed */
} failure;

static bool still_fails(void *user, const program *p)
{
    failure *f = user;
    char text[1024];

    if (end_of(p, f->way, f->seed, text, sizeof text) != f->end)
        return false;
    memcpy(f->text, text, sizeof text);
    return true;
}

static void write_out(const settings *s, const program *p, const failure *f, const char *what)
{
    char path[512] = "", comments[2048];
    pdm_buf text;
    FILE *file = stderr;

    snprintf(comments, sizeof comments, "// %s in way %s: %.900s\n", what, f->way->name, f->text);
    for (char *c = comments + 2; *c; c++) {
        if (*c == '\n' && c[1])
            *c = ' ';
    }
    pdm_buf_init(&text);
    program_print(p, comments, &text);
    if (s->keep) {
        snprintf(path, sizeof path, "%s/%s-%" PRIu64 ".pir", s->keep, f->way->name, f->seed);
        file = fopen(path, "w");
    }
    if (file && pdm_buf_ok(&text))
        fwrite(text.data, 1, text.size, file);
    if (file && file != stderr)
        fclose(file);
    pdm_buf_deinit(&text);
    printf("# %s: %zu ops are left, %s\n# run it again: pdm-programs --ways %s %s\n", what, program_num_ops(p), f->text, f->way->name,
           path[0] ? path : "FILE");
}

/* What was found is told and made small. p is used up. */
static void report(const settings *s, program *p, const char *name, const judge_way *way, uint64_t seed, const char *text)
{
    failure f = {.way = way, .seed = seed};

    printf("no %s in way %s: %s\n", name, way->name, text);
    f.end = end_of(p, way, seed, f.text, sizeof f.text);
    s->shared->failures++;
    if (f.end == 0 || f.end == 2) {
        printf("# it does not do that alone\n");
    } else if (s->seconds > 0) {
        program_reduce(p, still_fails, &f, s->seconds);
        write_out(s, p, &f, name);
    }
    fflush(stdout);
}

/* ---- random programs ------------------------------------------------------------------------- */

typedef struct op_count {
    shared *shared;
    bool in_group;
} op_count;

static pdm_status count_op(void *user, pdm_ir_op *op)
{
    op_count *c = user;
    const pdm_ir_op *parent = pdm_ir_op_parent(op);

    if ((size_t)op->info->code >= MAX_KINDS)
        return PDM_OK;
    if (!c->in_group)
        c->shared->kinds[op->info->code].drawn++;
    else if (parent && pdm_ir_op_is(parent, "cinn_op.group"))
        c->shared->kinds[op->info->code].grouped++;
    return PDM_OK;
}

static void count_kinds(const settings *s, const program *p)
{
    op_count count = {s->shared, false};
    pdm_ir_module *copy;

    if (pdm_ir_walk(p->module->op, PDM_IR_PRE_ORDER, count_op, &count) != PDM_OK || pdm_ir_module_clone(p->module, &copy) != PDM_OK)
        return;
    count.in_group = true;
    if (pdm_cinn_group_module(copy, NULL) != PDM_OK || pdm_ir_walk(copy->op, PDM_IR_PRE_ORDER, count_op, &count) != PDM_OK)
        s->shared->failures++;
    pdm_ir_module_destroy(copy);
}

typedef struct told {
    char *text;
    size_t size;
} told;

static void take(void *user, const pdm_diagnostic *d)
{
    const told *t = user;

    snprintf(t->text, t->size, "%.100s: %.500s", d->op_type ? d->op_type : "", d->message);
}

static bool is_valid(const program *p, char *text, size_t size)
{
    told t = {text, size};
    pdm_diag_sink sink = {.fn = take, .user = &t};

    return pdm_ir_verify(p->module, &sink) == PDM_OK;
}

static void run_seed(const settings *s, uint64_t seed, int first_way)
{
    const program_form form = form_of(s, seed);
    char text[1024] = "", name[40];
    program p;

    snprintf(name, sizeof name, "seed %" PRIu64, seed);
    s->shared->seed = seed;
    if (!program_generate(&p, seed, &form) || !is_valid(&p, text, sizeof text)) {
        printf("no %s: cannot be made: %s\n", name, text);
        s->shared->failures++;
        program_deinit(&p);
        return;
    }
    if (first_way == 0)
        count_kinds(s, &p);
    for (int w = first_way; w < s->num_ways; w++) {
        judge_stats *stats = &s->shared->ways[w];
        s->shared->way = w;
        limit_time(TIME_LIMIT);
        stats->programs++;
        stats->ops += program_num_ops(&p);
        const judge_result result = judge_program(&p, &s->ways[w], seed, stats, text, sizeof text);
        limit_time(0);
        if (result == JUDGE_SAME)
            continue;
        if (result == JUDGE_INVALID) {
            printf("no %s: %s\n", name, text);
            s->shared->failures++;
            break;
        }
        report(s, &p, name, &s->ways[w], seed, text);
        program_deinit(&p); /* another way wants the whole again */
        if (!program_generate(&p, seed, &form))
            return;
    }
    program_deinit(&p);
}

/* Programs of seeds that follow each other, at once. Nothing forks here: a sanitizer of threads is to see all. */
static void run_together(const settings *s)
{
    for (uint64_t seed = s->first; seed + JUDGE_TOGETHER - 1 <= s->last; seed += JUDGE_TOGETHER) {
        const program_form form = form_of(s, seed);
        program made[JUDGE_TOGETHER] = {{NULL}};
        const program *list[JUDGE_TOGETHER];
        char text[1024];
        bool ok = true;
        for (int i = 0; i < JUDGE_TOGETHER; i++) {
            list[i] = &made[i];
            ok = ok && program_generate(&made[i], seed + (uint64_t)i, &form);
        }
        for (int w = 0; ok && w < s->num_ways; w++) {
            judge_stats *stats = &s->shared->ways[w];
            stats->programs += JUDGE_TOGETHER;
            for (int i = 0; i < JUDGE_TOGETHER; i++)
                stats->ops += program_num_ops(&made[i]);
            if (judge_together(list, &s->ways[w], seed, stats, text, sizeof text) == JUDGE_SAME)
                continue;
            printf("no seeds from %" PRIu64 " on, at once, in way %s: %s\n", seed, s->ways[w].name, text);
            s->shared->failures++;
        }
        s->shared->failures += !ok;
        for (int i = 0; i < JUDGE_TOGETHER; i++)
            program_deinit(&made[i]);
    }
}

/* A process crashed: the program at hand is made small, and the rest run. */
static void crashed(const settings *s, int status)
{
    const program_form form = form_of(s, s->shared->seed);
    char text[64], name[40];
    program p;

    snprintf(name, sizeof name, "seed %" PRIu64, s->shared->seed);
    snprintf(text, sizeof text, "the process ended with status %x", (unsigned)status);
    if (program_generate(&p, s->shared->seed, &form))
        report(s, &p, name, &s->ways[s->shared->way], s->shared->seed, text);
    program_deinit(&p);
}

static void run_seeds(const settings *s)
{
    uint64_t seed = s->first;
    int way = 0;

    while (seed <= s->last) {
        const uint64_t end = s->last - seed >= CHUNK ? seed + CHUNK - 1 : s->last;
        int status = 0;
        s->shared->seed = seed;
        fflush(NULL);
        const pid_t child = fork();
        if (child == 0) {
            for (uint64_t i = seed; i <= end; i++, way = 0)
                run_seed(s, i, way);
            fflush(NULL);
            _exit(0);
        }
        if (child < 0 || waitpid(child, &status, 0) != child)
            exit(2);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
            if (end % 1000 == 0)
                fprintf(stderr, "seed %" PRIu64 ", %" PRIu64 " failures\n", end, s->shared->failures);
            seed = end + 1;
            way = 0;
            continue;
        }
        crashed(s, status);
        seed = s->shared->seed;
        way = s->shared->way + 1;
        if (way >= s->num_ways) {
            way = 0;
            seed++;
        }
    }
}

/* ---- kept programs --------------------------------------------------------------------------- */

static void tell(void *user, const pdm_diagnostic *d)
{
    (void)user;
    fprintf(stderr, "%s: %s\n", d->op_type ? d->op_type : "", d->message);
}

static bool read_all(const char *path, pdm_buf *out)
{
    char block[4096];
    size_t n;
    FILE *file = fopen(path, "r");

    if (!file)
        return false;
    while ((n = fread(block, 1, sizeof block, file)) > 0)
        pdm_buf_put(out, block, n);
    fclose(file);
    return pdm_buf_ok(out);
}

static void run_file(const settings *s, const char *path)
{
    pdm_diag_sink sink = {.fn = tell};
    program p = {0};
    char text[1024];
    pdm_buf file;

    pdm_buf_init(&file);
    if (!read_all(path, &file) || !program_parse(&p, file.data, file.size, path, &sink)) {
        printf("no %s: cannot be read\n", path);
        s->shared->failures++;
    } else {
        for (int w = 0; w < s->num_ways; w++) {
            const int end = end_of(&p, &s->ways[w], 1, text, sizeof text);
            judge_stats *stats = &s->shared->ways[w];
            stats->programs++;
            if (end == 0)
                continue;
            printf("no %s in way %s: %s\n", path, s->ways[w].name, text);
            s->shared->failures++;
        }
    }
    pdm_buf_deinit(&file);
    program_deinit(&p);
}

/* ---- main ------------------------------------------------------------------------------------ */

/* Ops of pd_op that the compiler has rules for. */
static const int ruled[] = {
#define PDM_CINN_RULE(op, ...)          PDM_IR_OP_pd_op_##op,
#define PDM_CINN_REDUCE_RULE(op, ...)   PDM_IR_OP_pd_op_##op,
#define PDM_CINN_NORM_RULE(op, ...)     PDM_IR_OP_pd_op_##op,
#define PDM_CINN_SIZES_RULE(op, ...)    PDM_IR_OP_pd_op_##op,
#define PDM_CINN_LIST_RULE(op, ...)     PDM_IR_OP_pd_op_##op,
#define PDM_CINN_ELEMENTS_RULE(op, ...) PDM_IR_OP_builtin_##op,
#define PDM_CINN_INDEX_RULE(op, ...)    PDM_IR_OP_pd_op_##op,
#define PDM_CINN_PIECES_RULE(op, ...)   PDM_IR_OP_pd_op_##op,
#include "cinn/rules.def"
#undef PDM_CINN_RULE
#undef PDM_CINN_REDUCE_RULE
#undef PDM_CINN_NORM_RULE
#undef PDM_CINN_SIZES_RULE
#undef PDM_CINN_LIST_RULE
#undef PDM_CINN_ELEMENTS_RULE
#undef PDM_CINN_INDEX_RULE
#undef PDM_CINN_PIECES_RULE
};

static void check_rules(const settings *s)
{
    enum { RULES = sizeof ruled / sizeof *ruled };
    int missing = 0;

    for (size_t i = 0; i < RULES; i++) {
        if (ruled[i] >= MAX_KINDS || s->shared->kinds[ruled[i]].grouped > 0)
            continue;
        printf("no %s was in a group\n", pdm_ir_op_desc_at((size_t)ruled[i])->name);
        missing++;
    }
    printf("rules: %d of %d were used\n", RULES - missing, RULES);
    s->shared->failures += (uint64_t)missing;
}

static bool has_hits(const judge_hits *hits, const pdm_ir_pass *pass)
{
    for (size_t i = 0; i < hits->count; i++) {
        if (hits->of[i].pass == pass)
            return true;
    }
    return false;
}

static void check_passes(const settings *s)
{
    for (size_t i = 0; pdm_ir_pass_at(i); i++) {
        bool found = false, any = false;
        for (int w = 0; w < s->num_ways; w++) {
            any |= s->ways[w].optimized || s->ways[w].passes;
            found |= has_hits(&s->shared->ways[w].hits, pdm_ir_pass_at(i));
        }
        if (any && !found) {
            printf("no pass %s did anything\n", pdm_ir_pass_at(i)->name);
            s->shared->failures++;
        }
    }
}

static void print_stats(const settings *s)
{
    for (int w = 0; w < s->num_ways; w++) {
        const judge_stats *t = &s->shared->ways[w];
        printf("%s: %" PRIu64 " programs of %" PRIu64 " ops, %" PRIu64 " runs, reference fails in %" PRIu64 ", by dead ops in %" PRIu64
               "; elements: %" PRIu64 " the same bits, %" PRIu64 " near, %" PRIu64 " anything, %" PRIu64 " overflow in some order\n",
               s->ways[w].name, t->programs, t->ops, t->runs, t->failing, t->dead, t->exact, t->near, t->loose, t->excused);
        if (s->ways[w].compile)
            printf("%s: %" PRIu64 " groups, %" PRIu64 " kernels, %" PRIu64 " of %" PRIu64 " runs compiled\n", s->ways[w].name, t->groups,
                   t->kernels, t->compiled, t->group_runs);
        for (size_t i = 0; s->stats && i < t->hits.count; i++)
            printf("%s: pass %s, %s: %" PRIu64 "\n", s->ways[w].name, t->hits.of[i].pass->name, t->hits.of[i].name, t->hits.of[i].times);
    }
    for (size_t i = 0; s->stats && i < pdm_ir_op_desc_count() && i < MAX_KINDS; i++) {
        if (s->shared->kinds[i].drawn)
            printf("%-32s %8" PRIu64 " %8" PRIu64 "\n", pdm_ir_op_desc_at(i)->name, s->shared->kinds[i].drawn, s->shared->kinds[i].grouped);
    }
}

static bool read_ways(settings *s, const char *list)
{
    for (s->num_ways = 0; *list;) {
        const size_t len = strcspn(list, ",");
        if (s->num_ways == MAX_WAYS || !judge_way_parse(list, len, &s->ways[s->num_ways++]))
            return false;
        list += len + (list[len] == ',');
    }
    return s->num_ways > 0;
}

static bool print_program(const settings *s, uint64_t seed)
{
    const program_form form = form_of(s, seed);
    program p;
    pdm_buf text;

    if (!program_generate(&p, seed, &form))
        return false;
    pdm_buf_init(&text);
    program_print(&p, "", &text);
    fwrite(text.data, 1, text.size, stdout);
    pdm_buf_deinit(&text);
    program_deinit(&p);
    return true;
}

static int usage(void)
{
    fputs("usage: pdm-programs [--seeds FIRST-LAST] [--ways WAY,...] [--ops N] [--large N] [--keep FOLDER] [--reduce SECONDS] "
          "[--print SEED] [--together] [--stats] [--check] [FILE...]\n",
          stderr);
    return 2;
}

int main(int argc, char **argv)
{
    settings s = {.first = 1, .last = 0, .max_ops = 60, .large = 40, .seconds = 60};
    int i = 1;

    s.shared = mmap(NULL, sizeof *s.shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (s.shared == MAP_FAILED || !read_ways(&s, "O2,passes,ref,fast"))
        return 2;
    for (; i < argc && !strncmp(argv[i], "--", 2); i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (!strcmp(argv[i], "--stats")) {
            s.stats = true;
            continue;
        }
        if (!strcmp(argv[i], "--together")) {
            s.together = true;
            continue;
        }
        if (!strcmp(argv[i], "--check")) {
            s.check = true;
            continue;
        }
        if (!value)
            return usage();
        if (!strcmp(argv[i], "--seeds") && strchr(value, '-')) {
            s.first = strtoull(value, NULL, 10);
            s.last = strtoull(strchr(value, '-') + 1, NULL, 10);
        } else if (!strcmp(argv[i], "--ways")) {
            if (!read_ways(&s, value))
                return usage();
        } else if (!strcmp(argv[i], "--ops")) {
            s.max_ops = atoi(value);
        } else if (!strcmp(argv[i], "--large")) {
            s.large = atoi(value);
        } else if (!strcmp(argv[i], "--reduce")) {
            s.seconds = atoi(value);
        } else if (!strcmp(argv[i], "--keep")) {
            s.keep = value;
        } else if (!strcmp(argv[i], "--print")) {
            return print_program(&s, strtoull(value, NULL, 10)) ? 0 : 1;
        } else {
            return usage();
        }
        i++;
    }
    for (int w = 0; w < s.num_ways; w++) {
        if (s.ways[w].compile && !strcmp(s.ways[w].compile, "cuda-emulated"))
            pdm_cinn_backend_add(&emulated_backend);
        if (s.ways[w].compile && !strcmp(s.ways[w].compile, "faulty"))
            pdm_cinn_backend_add(&faulty_backend);
        const char *reason = "";
        if (s.ways[w].compile && !pdm_cinn_backend_find(s.ways[w].compile, &reason)) {
            fprintf(stderr, "pdm-programs: %s: %s\n", s.ways[w].compile, reason);
            return 2;
        }
    }
    if (s.together)
        run_together(&s);
    else if (s.last >= s.first)
        run_seeds(&s);
    for (; i < argc; i++)
        run_file(&s, argv[i]);
    print_stats(&s);
    if (s.check) {
        check_rules(&s);
        check_passes(&s);
    }
    printf("%" PRIu64 " failures\n", s.shared->failures);
    return s.shared->failures ? 1 : 0;
}

/*
 * Whether a program computes the same in other ways as with reference kernels: after passes, compiled, with fast kernels, with two
 * threads, again in the same session, with sizes of another set.
 *
 * Most of it is the same bit by bit. Functions like exp may differ by a few units in the last place, and what that makes of the
 * outputs depends on the program. So when bits differ, the reference runs again, several times, with the results of such functions moved
 * by as many units at random: each element may be as far off as these runs go apart, and not at all where they do not.
 *
 * Where the order of terms or factors may change (sums; what passes take into weights), one order may be too large for the type, and
 * another not. If nothing else explains a difference, such results become anything in further runs, infinities and NaN among it: those
 * within 2^10 of the largest number, and those that are not finite though all operands are. Elements that only this explains are counted.
 */
#ifndef PDM_TESTS_PROGRAMS_JUDGE_H
#define PDM_TESTS_PROGRAMS_JUDGE_H

#include <stdint.h>

#include "exec/executor.h"
#include "ir/pass.h"
#include "program.h"

typedef struct judge_way {
    char name[40];       /* parts with '-': O2, passes, ref, llvm, cuda, faulty, single, fast */
    const char *compile; /* backend, or NULL */
    bool single, fast, optimized, passes;
} judge_way;

/* False: there is no such way. */
bool judge_way_parse(const char *name, size_t len, judge_way *out);

typedef enum judge_result {
    JUDGE_SAME,
    JUDGE_INVALID, /* the program is none that can be judged */
    JUDGE_DIFFERS
} judge_result;

/* What passes did, and how often. */
enum { JUDGE_MAX_HITS = 128 };
typedef struct judge_hits {
    size_t count;
    struct {
        const pdm_ir_pass *pass;
        char name[48];
        uint64_t times;
    } of[JUDGE_MAX_HITS];
} judge_hits;

typedef struct judge_stats { /* plain numbers: shared with processes */
    uint64_t programs, ops, runs, failing; /* failing: sets with which the reference cannot run */
    uint64_t dead; /* runs where it could not because of ops that nobody needs */
    uint64_t exact, near, loose; /* elements: the same bits; within what functions may do; of which that can be anything */
    uint64_t excused; /* elements that are too large in some order only */
    uint64_t groups, kernels, group_runs, compiled;
    judge_hits hits;
} judge_stats;

/* text: what differs. seed: chooses passes, and how functions are moved. */
judge_result judge_program(const program *p, const judge_way *way, uint64_t seed, judge_stats *stats, char *text, size_t size);

/* Programs in a way, each in a plan and a session of its own, twice, all at once by threads: each gives the same bits as alone. */
enum { JUDGE_TOGETHER = 3 };
judge_result judge_together(const program *const list[JUDGE_TOGETHER], const judge_way *way, uint64_t seed, judge_stats *stats, char *text,
                            size_t size);

/* Reference run of a set: fn is told of every op. */
bool judge_observe(const program *p, int set, pdm_exec_observe_fn fn, void *user);

#endif

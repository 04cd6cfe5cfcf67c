/* Transposes against plain loops: all element sizes, shapes of one tile and of many, threads. */
#include <check.h>

#include "exec/pool.h"
#include "unit/exec/call.h"

Suite *pdm_suite_kernels_move(void);

static const struct {
    int rank;
    int64_t dims[5], perm[5];
} cases[] = {
    {2, {5, 7}, {1, 0}},
    {2, {3, 100003}, {1, 0}},
    {2, {100003, 3}, {1, 0}},
    {2, {331, 1025}, {1, 0}},
    {3, {2, 77, 1030}, {0, 2, 1}},
    {4, {2, 3, 130, 131}, {0, 2, 3, 1}},
    {4, {2, 130, 131, 3}, {0, 3, 1, 2}},
    {4, {3, 17, 5, 33}, {0, 2, 1, 3}},
    {4, {3, 17, 5, 33}, {2, 3, 0, 1}},
    {5, {2, 3, 4, 5, 6}, {4, 2, 0, 3, 1}},
    {1, {300000}, {0}},
    {3, {4, 0, 5}, {2, 0, 1}},
};
static const pdm_dtype types[] = {PDM_F32, PDM_I64, PDM_I8, PDM_F16, PDM_C128};

/* The element of x that element i of the result is. */
static int64_t source(int rank, const int64_t *dims, const int64_t *perm, int64_t i)
{
    int64_t at[5], offset = 0;

    for (int d = rank - 1; d >= 0; d--) {
        at[perm[d]] = i % dims[perm[d]];
        i /= dims[perm[d]];
    }
    for (int d = 0; d < rank; d++)
        offset = offset * dims[d] + at[d];
    return offset;
}

START_TEST(transposes)
{
    const int rank = cases[_i].rank;
    const int64_t *dims = cases[_i].dims, *perm = cases[_i].perm;
    pdm_pool *pool;

    ck_assert_int_eq(pdm_pool_create(3, &pool), PDM_OK);
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        const size_t size = pdm_dtype_size(types[t]);
        call c;
        begin(&c, "pd_op.transpose");
        c.k.pool = pool;
        c.attrs[0] = (attribute)INTS("perm", rank, 0);
        memcpy(c.attrs[0].ints, perm, sizeof *perm * (size_t)rank);
        pdm_tensor *x = operand(&c, 0, types[t], rank, dims);
        for (size_t i = 0; i < pdm_tensor_bytes(x); i++)
            ((unsigned char *)x->data)[i] = (unsigned char)(i * 2654435761u >> 13);
        ck_assert_int_eq(run(&c), PDM_OK);
        const char *from = x->data, *to = c.out[0].tensor.data;
        for (int64_t i = 0; i < pdm_tensor_count(x); i++) {
            const int64_t at = source(rank, dims, perm, i);
            if (memcmp(to + (size_t)i * size, from + (size_t)at * size, size) != 0)
                ck_abort_msg("element %d of size %zu", (int)i, size);
        }
        end(&c);
    }
    pdm_pool_destroy(pool);
}
END_TEST

Suite *pdm_suite_kernels_move(void)
{
    Suite *suite = suite_create("kernels_move");
    TCase *tc = tcase_create("kernels_move");

    tcase_add_loop_test(tc, transposes, 0, (int)(sizeof cases / sizeof *cases));
    suite_add_tcase(suite, tc);
    return suite;
}

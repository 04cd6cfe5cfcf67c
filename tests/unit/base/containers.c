/* Arena, vector, hash map, interning, checked sizes. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/checked.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/vec.h"
#include "unit/must.h"

Suite *pdm_suite_containers(void);

START_TEST(arena_gives_aligned_disjoint_memory)
{
    pdm_arena arena;
    unsigned char *pieces[2000];

    pdm_arena_init(&arena);
    for (size_t i = 0; i < 2000; i++) {
        const size_t size = i % 100 == 7 ? 70000 : i % 97;
        pieces[i] = pdm_arena_alloc(&arena, size);
        ck_assert_ptr_nonnull(pieces[i]);
        ck_assert_uint_eq((uintptr_t)pieces[i] % 16, 0);
        memset(pieces[i], (int)(i & 0xff), size);
    }
    for (size_t i = 0; i < 2000; i++) {
        const size_t size = i % 100 == 7 ? 70000 : i % 97;
        size_t same = 0;
        while (same < size && pieces[i][same] == (i & 0xff))
            same++;
        ck_assert_uint_eq(same, size);
    }
    ck_assert_uint_le(arena.used, arena.reserved);
    /* Big pieces must not throw away the rest of the current block. */
    ck_assert_uint_lt(arena.reserved - arena.used, 300 * 1024);
    pdm_arena_deinit(&arena);
    pdm_arena_deinit(&arena);
}
END_TEST

START_TEST(arena_reset_keeps_one_block)
{
    pdm_arena arena;

    pdm_arena_init(&arena);
    pdm_arena_reset(&arena);
    for (int i = 0; i < 10000; i++)
        must(pdm_arena_alloc(&arena, 100));
    const size_t before = arena.reserved;
    pdm_arena_reset(&arena);
    ck_assert_uint_eq(arena.used, 0);
    ck_assert_uint_gt(arena.reserved, 0);
    ck_assert_uint_lt(arena.reserved, before);
    const size_t kept = arena.reserved;
    must(pdm_arena_alloc(&arena, 100));
    ck_assert_uint_eq(arena.reserved, kept);
    pdm_arena_deinit(&arena);
}
END_TEST

START_TEST(arena_refuses_sizes_that_overflow)
{
    pdm_arena arena;

    pdm_arena_init(&arena);
    ck_assert_ptr_null(pdm_arena_alloc(&arena, SIZE_MAX));
    ck_assert_ptr_null(pdm_arena_alloc(&arena, SIZE_MAX - 20));
    ck_assert_ptr_null(pdm_arena_calloc(&arena, SIZE_MAX / 2, 3));
    ck_assert_ptr_null(pdm_arena_strndup(&arena, "", SIZE_MAX));
    ck_assert_uint_eq(arena.used, 0);
    pdm_arena_deinit(&arena);
}
END_TEST

START_TEST(arena_copies)
{
    pdm_arena arena;

    pdm_arena_init(&arena);
    const char *text = pdm_arena_strndup(&arena, "abcdef", 3);
    ck_assert_str_eq(text, "abc");
    ck_assert_str_eq(pdm_arena_strndup(&arena, NULL, 0), "");
    const int64_t *copy = pdm_arena_memdup(&arena, (int64_t[]){1, -2}, 16);
    ck_assert_int_eq(copy[1], -2);
    ck_assert_ptr_nonnull(pdm_arena_memdup(&arena, NULL, 0));
    const char *zeros = pdm_arena_calloc(&arena, 10, 10);
    for (int i = 0; i < 100; i++)
        ck_assert_int_eq(zeros[i], 0);
    pdm_arena_deinit(&arena);
}
END_TEST

START_TEST(vec_grows)
{
    PDM_VEC(int) ints = {0};

    for (int i = 0; i < 100000; i++)
        must(PDM_VEC_PUSH(&ints, i));
    ck_assert_uint_eq(ints.n, 100000);
    for (int i = 0; i < 100000; i++)
        must(ints.v[i] == i);
    PDM_VEC_FREE(&ints);
    ck_assert_ptr_null(ints.v);
    ck_assert_uint_eq(ints.cap, 0);
    ck_assert(PDM_VEC_PUSH(&ints, 5));
    PDM_VEC_FREE(&ints);
}
END_TEST

START_TEST(vec_is_unchanged_when_it_cannot_grow)
{
    PDM_VEC(int64_t) v = {0};

    ck_assert(PDM_VEC_PUSH(&v, 42));
    const int64_t *before = v.v;
    ck_assert(!PDM_VEC_RESERVE(&v, SIZE_MAX / 8 + 1));
    ck_assert(!PDM_VEC_RESERVE(&v, SIZE_MAX / 16));
    ck_assert_ptr_eq(v.v, before);
    ck_assert_uint_eq(v.n, 1);
    ck_assert_int_eq(v.v[0], 42);
    PDM_VEC_FREE(&v);
}
END_TEST

static char pool[5000];

START_TEST(map_reserves)
{
    pdm_map map = {0};

    ck_assert(pdm_map_reserve(&map, 0));
    ck_assert_uint_eq(map.capacity, 0);
    ck_assert(!pdm_map_reserve(&map, SIZE_MAX));
    for (size_t n = 1; n < sizeof pool; n = 2 * n + 1) {
        ck_assert(pdm_map_reserve(&map, n));
        const pdm_map_entry *entries = map.entries;
        for (size_t i = 0; i < n; i++)
            ck_assert_ptr_nonnull(pdm_map_put(&map, &pool[i]));
        ck_assert_ptr_eq(map.entries, entries);
        for (size_t i = 0; i < n; i++)
            ck_assert_ptr_nonnull(pdm_map_find(&map, &pool[i]));
        ck_assert_uint_eq(map.count, n);
    }
    pdm_map_deinit(&map);
}
END_TEST

START_TEST(map_finds_what_was_put)
{
    pdm_map map = {0};

    ck_assert_ptr_null(pdm_map_find(&map, pool));
    pdm_map_remove(&map, pool);
    for (size_t i = 0; i < sizeof pool; i++) {
        pdm_map_entry *e = pdm_map_put(&map, &pool[i]);
        ck_assert_ptr_nonnull(e);
        ck_assert_uint_eq(e->value.num, 0);
        e->value.num = i + 1;
    }
    ck_assert_uint_eq(map.count, sizeof pool);
    ck_assert_uint_eq(map.capacity & (map.capacity - 1), 0);
    for (size_t i = 0; i < sizeof pool; i++) {
        ck_assert_uint_eq(pdm_map_put(&map, &pool[i])->value.num, i + 1);
        ck_assert_uint_eq(pdm_map_find(&map, &pool[i])->value.num, i + 1);
    }
    ck_assert_uint_eq(map.count, sizeof pool);
    pdm_map_clear(&map);
    ck_assert_uint_eq(map.count, 0);
    ck_assert_ptr_null(pdm_map_find(&map, &pool[1]));
    ck_assert_ptr_nonnull(pdm_map_put(&map, &pool[1]));
    pdm_map_deinit(&map);
}
END_TEST

/* Random puts and removes against a plain array: entries behind a hole must stay reachable. */
START_TEST(map_removal_keeps_the_others)
{
    enum { KEYS = 700 };
    static uint64_t truth[KEYS];
    size_t live = 0;
    uint64_t r = 88172645463325252u;
    pdm_map map;

    memset(truth, 0, sizeof truth);
    pdm_map_init(&map);
    for (uint64_t step = 1; step <= 60000; step++) {
        r ^= r << 13;
        r ^= r >> 7;
        r ^= r << 17;
        const size_t k = (size_t)(r >> 8) % KEYS;
        if (r & 1) {
            live += truth[k] == 0;
            truth[k] = step;
            pdm_map_put(&map, &pool[k])->value.num = step;
        } else {
            live -= truth[k] != 0;
            truth[k] = 0;
            pdm_map_remove(&map, &pool[k]);
        }
        if (step % 500 != 0)
            continue;
        for (size_t i = 0; i < KEYS; i++) {
            const pdm_map_entry *e = pdm_map_find(&map, &pool[i]);
            must((e ? e->value.num : 0) == truth[i]);
        }
        ck_assert_uint_eq(map.count, live);
    }
    pdm_map_deinit(&map);
}
END_TEST

START_TEST(intern_makes_equal_texts_one)
{
    pdm_arena arena;
    pdm_intern table;
    static const char *first[3000];
    char name[32];

    pdm_arena_init(&arena);
    pdm_intern_init(&table, &arena);
    ck_assert_ptr_null(pdm_intern_find(&table, "x", 1));
    for (int i = 0; i < 3000; i++) {
        snprintf(name, sizeof name, "var_%d.tmp_0", i);
        first[i] = pdm_intern_cstr(&table, name);
        ck_assert_str_eq(first[i], name);
        ck_assert_ptr_ne(first[i], name);
    }
    for (int i = 0; i < 3000; i++) {
        snprintf(name, sizeof name, "var_%d.tmp_0", i);
        ck_assert_ptr_eq(pdm_intern_get(&table, name, strlen(name)), first[i]);
        ck_assert_ptr_eq(pdm_intern_find(&table, name, strlen(name)), first[i]);
    }
    ck_assert_uint_eq(table.count, 3000);
    ck_assert_ptr_null(pdm_intern_find(&table, "var_1.tmp_", 10));
    ck_assert_ptr_eq(pdm_intern_get(&table, "abcd", 2), pdm_intern_cstr(&table, "ab"));
    ck_assert_ptr_eq(pdm_intern_get(&table, NULL, 0), pdm_intern_cstr(&table, ""));
    pdm_intern_deinit(&table);
    pdm_arena_deinit(&arena);
}
END_TEST

START_TEST(hash_depends_on_every_byte)
{
    unsigned char text[40] = {0};

    /* A fixed value: hashes must not differ between machines or runs. */
    ck_assert_uint_eq(pdm_hash_bytes("conv2d_0.w_0", 12, 0), UINT64_C(0xe40d9ea53497f46c));
    for (size_t size = 0; size <= sizeof text; size++) {
        const uint64_t h = pdm_hash_bytes(text, size, 1);
        ck_assert_uint_ne(h, pdm_hash_bytes(text, size, 2));
        for (size_t i = 0; i < size; i++) {
            text[i] = 1;
            ck_assert_uint_ne(h, pdm_hash_bytes(text, size, 1));
            text[i] = 0;
        }
        if (size > 0)
            ck_assert_uint_ne(h, pdm_hash_bytes(text, size - 1, 1));
    }
}
END_TEST

START_TEST(sizes_are_checked)
{
    uint64_t n = 77;

    ck_assert(pdm_mul_u64(UINT64_C(1) << 32, (UINT64_C(1) << 32) - 1, &n));
    ck_assert_uint_eq(n, 0xffffffff00000000u);
    ck_assert(!pdm_mul_u64(UINT64_C(1) << 32, UINT64_C(1) << 32, &n));
    ck_assert(!pdm_add_u64(UINT64_MAX, 1, &n));
    ck_assert_uint_eq(n, 0xffffffff00000000u);
    ck_assert(pdm_count_elements(NULL, 0, &n));
    ck_assert_uint_eq(n, 1);
    ck_assert(pdm_count_elements((int64_t[]){2, 3, 4}, 3, &n));
    ck_assert_uint_eq(n, 24);
    ck_assert(pdm_count_elements((int64_t[]){2, 0, 4}, 3, &n));
    ck_assert_uint_eq(n, 0);
    ck_assert(!pdm_count_elements((int64_t[]){2, -1, 4}, 3, &n));
    ck_assert(!pdm_count_elements((int64_t[]){0, -1}, 2, &n));
    ck_assert(!pdm_count_elements((int64_t[]){INT64_C(1) << 32, INT64_C(1) << 31}, 2, &n));
    ck_assert(!pdm_count_elements((int64_t[]){INT64_C(1) << 32, 0, INT64_C(1) << 32}, 3, &n));
    ck_assert(pdm_count_elements((int64_t[]){INT64_MAX}, 1, &n));
    ck_assert_uint_eq(n, INT64_MAX);
}
END_TEST

Suite *pdm_suite_containers(void)
{
    Suite *suite = suite_create("containers");
    TCase *tc = tcase_create("containers");

    tcase_add_test(tc, arena_gives_aligned_disjoint_memory);
    tcase_add_test(tc, arena_reset_keeps_one_block);
    tcase_add_test(tc, arena_refuses_sizes_that_overflow);
    tcase_add_test(tc, arena_copies);
    tcase_add_test(tc, vec_grows);
    tcase_add_test(tc, vec_is_unchanged_when_it_cannot_grow);
    tcase_add_test(tc, map_reserves);
    tcase_add_test(tc, map_finds_what_was_put);
    tcase_add_test(tc, map_removal_keeps_the_others);
    tcase_add_test(tc, intern_makes_equal_texts_one);
    tcase_add_test(tc, hash_depends_on_every_byte);
    tcase_add_test(tc, sizes_are_checked);
    suite_add_tcase(suite, tc);
    return suite;
}

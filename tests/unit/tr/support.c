#include "unit/tr/support.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "ir/text.h"

/* ---- reading the text ------------------------------------------------------------------------ */

enum { MAX_ITEMS = 32 };

typedef struct reader {
    pdm_lg_program *program;
    pdm_lg_var vars[MAX_ITEMS];
    pdm_lg_op ops[MAX_ITEMS];
    size_t num_vars, num_ops;
} reader;

static void *keep(reader *r, const void *data, size_t size)
{
    void *copy = pdm_arena_memdup(&r->program->arena, data, size ? size : 1);
    ck_assert_ptr_nonnull(copy);
    return copy;
}

static const char *name_of(reader *r, const char *text, size_t len)
{
    const char *name = pdm_intern_get(&r->program->strings, text, len);
    ck_assert_ptr_nonnull(name);
    return name;
}

static const char *cname(reader *r, const char *text)
{
    return name_of(r, text, strlen(text));
}

static void read_var(reader *r, char *line)
{
    pdm_lg_var *v = &r->vars[r->num_vars++];
    int64_t dims[MAX_ITEMS];
    *v = (pdm_lg_var){.kind = PDM_LG_DENSE_TENSOR, .has_tensor = true};
    v->name = cname(r, strtok(line, " "));
    v->dtype = pdm_dtype_from_name(strtok(NULL, " "));
    for (char *word; (word = strtok(NULL, " "));) {
        if (strcmp(word, "in") == 0)
            v->need_check_feed = v->has_need_check_feed = true;
        else if (strcmp(word, "array") == 0)
            v->kind = PDM_LG_TENSOR_ARRAY;
        else if (strcmp(word, "raw") == 0)
            v->kind = PDM_LG_RAW;
        else if (strcmp(word, "persist") == 0)
            v->persistable = true;
        else
            dims[v->rank++] = atoll(word);
    }
    v->dims = keep(r, dims, v->rank * sizeof *dims);
    v->dtype_number = pdm_dtype_to_legacy(v->dtype);
}

/* Words of a comma-separated list. */
static size_t split(char *text, char **words)
{
    size_t n = 0;
    for (char *next; text && *text; text = next) {
        next = strchr(text, ',');
        if (next)
            *next++ = '\0';
        words[n++] = text;
    }
    return n;
}

static void read_slot(reader *r, char *word, pdm_lg_slot *slot)
{
    char *args[MAX_ITEMS], *equals = strchr(word, '=');
    const char *names[MAX_ITEMS];
    slot->name = name_of(r, word, (size_t)(equals - word));
    slot->num_args = split(equals + 1, args);
    for (size_t i = 0; i < slot->num_args; i++)
        names[i] = cname(r, args[i]);
    slot->args = keep(r, names, slot->num_args * sizeof *names);
}

static bool is_float(const char *text)
{
    return strpbrk(text, ".en") != NULL;
}

static void read_list(reader *r, pdm_lg_attr *a, char *text, bool scalars)
{
    char *words[MAX_ITEMS];
    int32_t ints[MAX_ITEMS];
    int64_t longs[MAX_ITEMS];
    float floats[MAX_ITEMS];
    pdm_lg_scalar items[MAX_ITEMS];
    text[strcspn(text, "]")] = '\0';
    size_t n = a->count = split(text, words);
    bool real = n && is_float(words[0]), wide = n && strchr(words[0], 'L');
    memset(items, 0, sizeof items);
    for (size_t i = 0; i < n; i++) {
        ints[i] = (int32_t)atoll(words[i]);
        longs[i] = atoll(words[i]);
        floats[i] = strtof(words[i], NULL);
        items[i].type = real ? PDM_LG_SCALAR_F64 : PDM_LG_SCALAR_I64;
        items[i].r = strtod(words[i], NULL);
        items[i].i = longs[i];
    }
    a->type = scalars ? PDM_LG_SCALARS : real ? PDM_LG_FLOATS : wide ? PDM_LG_LONGS : PDM_LG_INTS;
    if (scalars)
        a->u.scalars = keep(r, items, n * sizeof *items);
    else if (real)
        a->u.floats = keep(r, floats, n * sizeof *floats);
    else if (wide)
        a->u.longs = keep(r, longs, n * sizeof *longs);
    else
        a->u.ints = keep(r, ints, n * sizeof *ints);
}

static void read_attr(reader *r, char *word, pdm_lg_attr *a)
{
    char *value = strchr(word, '=');
    *value++ = '\0';
    a->name = cname(r, word);
    if (*value == '[' || *value == '#') {
        bool scalars = *value == '#';
        read_list(r, a, value + 1 + scalars, scalars);
    } else if (*value == '"') {
        value[1 + strcspn(value + 1, "\"")] = '\0';
        a->type = PDM_LG_STRING;
        a->u.s = cname(r, value + 1);
    } else if (strcmp(value, "true") == 0 || strcmp(value, "false") == 0) {
        a->type = PDM_LG_BOOLEAN;
        a->u.b = *value == 't';
    } else if (strchr(value, 'L')) {
        a->type = PDM_LG_LONG;
        a->u.l = atoll(value);
    } else if (is_float(value)) {
        a->type = PDM_LG_FLOAT;
        a->u.f = strtof(value, NULL);
    } else {
        a->type = PDM_LG_INT;
        a->u.i = (int32_t)atoll(value);
    }
}

static void read_op(reader *r, char *line)
{
    pdm_lg_op *op = &r->ops[r->num_ops++];
    pdm_lg_slot slots[2][MAX_ITEMS];
    pdm_lg_attr attrs[MAX_ITEMS];
    size_t counts[3] = {0};
    int part = 0; /* inputs, outputs, attributes */
    memset(attrs, 0, sizeof attrs);
    *op = (pdm_lg_op){.type = cname(r, strtok(line, " "))};
    for (char *word; (word = strtok(NULL, " "));) {
        if (strcmp(word, ">") == 0 || strcmp(word, "|") == 0)
            part = *word == '>' ? 1 : 2;
        else if (part < 2)
            read_slot(r, word, &slots[part][counts[part]++]);
        else
            read_attr(r, word, &attrs[counts[2]++]);
    }
    op->inputs = keep(r, slots[0], counts[0] * sizeof **slots);
    op->outputs = keep(r, slots[1], counts[1] * sizeof **slots);
    op->attrs = keep(r, attrs, counts[2] * sizeof *attrs);
    op->num_inputs = counts[0];
    op->num_outputs = counts[1];
    op->num_attrs = counts[2];
}

static pdm_lg_program *read_program(const lgtr_case *c)
{
    static reader r;
    char *text = strdup(c->program), *next;
    pdm_lg_program *p = calloc(1, sizeof *p);
    ck_assert_ptr_nonnull(p);
    ck_assert_ptr_nonnull(text);
    pdm_arena_init(&p->arena);
    pdm_intern_init(&p->strings, &p->arena);
    r = (reader){.program = p};
    for (char *line = text; line && *line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        line += strspn(line, " ");
        if (strncmp(line, "var ", 4) == 0)
            read_var(&r, line + 4);
        else if (strncmp(line, "op ", 3) == 0)
            read_op(&r, line + 3);
    }
    free(text);
    pdm_lg_block *b = pdm_arena_calloc(&p->arena, 1, sizeof *b);
    ck_assert_ptr_nonnull(b);
    *b = (pdm_lg_block){
        .parent = -1, .forward_idx = -1, .num_vars = r.num_vars, .num_ops = r.num_ops};
    b->vars = keep(&r, r.vars, r.num_vars * sizeof *r.vars);
    b->ops = keep(&r, r.ops, r.num_ops * sizeof *r.ops);
    for (size_t i = 0; i < b->num_vars; i++) {
        pdm_map_entry *e = pdm_map_put(&b->var_index, b->vars[i].name);
        ck_assert_ptr_nonnull(e);
        e->value.num = i;
    }
    p->blocks = b;
    p->num_blocks = 1;
    p->path = "test";
    p->version = c->version;
    if (c->versioned) {
        const pdm_lg_op_version v = {cname(&r, c->versioned), c->op_version};
        p->op_versions = keep(&r, &v, sizeof v);
        p->num_op_versions = 1;
        p->has_op_versions = true;
    }
    return p;
}

/* ---- translating ----------------------------------------------------------------------------- */

static void log_line(void *user, const pdm_diagnostic *d)
{
    pdm_buf_printf(user, "%s: %s\n", d->id, d->message);
}

static void list_ops(const pdm_ir_module *m, pdm_buf *out)
{
    for (const pdm_ir_op *op = m->block->first; op; op = op->next) {
        const char *name = pdm_ir_op_name(op);
        if (strcmp(name, "pd_op.data") == 0 || strcmp(name, "pd_op.fetch") == 0)
            continue;
        if (out->size)
            pdm_buf_putc(out, ' ');
        pdm_buf_puts(out, strchr(name, '.') + 1);
    }
    pdm_buf_puts(out, "");
}

void lgtr_run(const lgtr_case *c, lgtr_result *result)
{
    pdm_lg_program *program = read_program(c);
    pdm_ir_context *context;
    pdm_lg_schemas *schemas;
    pdm_ir_module *module = NULL;
    const char *fetch = c->fetch ? c->fetch : "o";
    pdm_tr_options options = {.fetch = &fetch, .num_fetch = 1, .keep_quant_ops = c->keep_quant_ops};
    pdm_buf_init(&result->ops);
    pdm_buf_init(&result->text);
    pdm_buf_init(&result->log);
    pdm_buf_puts(&result->log, "");
    pdm_diag_sink sink = {.fn = log_line, .user = &result->log};
    ck_assert_int_eq(pdm_ir_context_create(&context), PDM_OK);
    ck_assert_int_eq(pdm_lg_schemas_create(&schemas), PDM_OK);
    result->status = pdm_tr_translate(context, schemas, program, &options, &sink, &module);
    if (result->status == PDM_OK) {
        pdm_ir_print(module, &result->text);
        list_ops(module, &result->ops);
        ck_assert_msg(pdm_ir_verify(module, &sink) == PDM_OK, "%s%s", result->log.data,
                      result->text.data);
        pdm_ir_module_destroy(module);
    }
    pdm_lg_schemas_destroy(schemas);
    pdm_ir_context_destroy(context);
    pdm_lg_program_destroy(program);
}

void lgtr_free(lgtr_result *result)
{
    pdm_buf_deinit(&result->ops);
    pdm_buf_deinit(&result->text);
    pdm_buf_deinit(&result->log);
}

void lgtr_expect(const lgtr_case *c, const char *ops, const char *part)
{
    lgtr_result r;
    lgtr_run(c, &r);
    ck_assert_msg(r.status == PDM_OK, "status %d\n%s\n%s", (int)r.status, c->program, r.log.data);
    ck_assert_str_eq(r.ops.data, ops);
    ck_assert_msg(!part || strstr(r.text.data, part), "no %s in\n%s", part, r.text.data);
    lgtr_free(&r);
}

void lgtr_expect_error(const lgtr_case *c, pdm_status status, const char *part)
{
    lgtr_result r;
    lgtr_run(c, &r);
    ck_assert_int_eq(r.status, status);
    ck_assert_msg(strstr(r.log.data, part), "no %s in\n%s", part, r.log.data);
    lgtr_free(&r);
}

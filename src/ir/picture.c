#include "ir/picture.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "ir/align.h"

enum { MAX_NODES = 8, MAX_NAMES = 24, MAX_OPERANDS = 8, MAX_ATTRS = 8, NO_VALUE = -1 };

/* An attribute in braces. */
typedef struct entry {
    uint16_t index; /* in the row */
    int name;       /* $NAME; -1: the literal */
    pdm_ir_attr literal;
} entry;

/* A line. */
typedef struct node {
    const pdm_ir_op_info *info; /* NULL: a value that was there before (result) */
    int result;
    bool shared; /* others may read the result */
    bool rest;   /* ...: other attributes may have any value */
    int like;    /* value whose op's attributes are carried; -1 */
    int operands[MAX_OPERANDS], num_operands;
    entry attrs[MAX_ATTRS];
    int num_attrs;
} node;

struct pdm_ir_picture {
    const pdm_ir_pattern *pattern;
    pdm_ir_context *context;
    node from[MAX_NODES], to[MAX_NODES];
    int num_from, num_to;
    const char *values[MAX_NAMES], *attrs[MAX_NAMES]; /* names, interned */
    int num_values, num_attrs;
    int maker[MAX_NAMES]; /* by value: the line of `from` that makes it, or -1 */
};

struct pdm_ir_match {
    const pdm_ir_picture *picture;
    pdm_ir_rewriter *rw;
    pdm_ir_value *values[MAX_NAMES];
    pdm_ir_op *ops[MAX_NODES];
    pdm_ir_attr attrs[MAX_NAMES];
};

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct reader {
    pdm_ir_picture *picture;
    const char *at;
    const char *fault; /* the first one; NULL: none */
    bool nomem;
} reader;

static void fail(reader *r, const char *what)
{
    if (!r->fault)
        r->fault = what;
}

static void blanks(reader *r)
{
    r->at += strspn(r->at, " \t\n");
}

static bool take(reader *r, const char *token)
{
    blanks(r);
    if (strncmp(r->at, token, strlen(token)) != 0)
        return false;
    r->at += strlen(token);
    return true;
}

static void expect(reader *r, const char *token)
{
    if (!take(r, token))
        fail(r, token);
}

/* A word, interned; "" after a fault. */
static const char *word(reader *r)
{
    blanks(r);
    const char *begin = r->at;
    while (isalnum((unsigned char)*r->at) || *r->at == '_' || *r->at == '.')
        r->at++;
    if (r->at == begin)
        fail(r, "a name");
    const char *text = pdm_ir_strn(r->picture->context, begin, (size_t)(r->at - begin));
    r->nomem = r->nomem || !text;
    return text ? text : "";
}

static int name_in(reader *r, const char **names, int *count)
{
    const char *name = word(r);

    for (int i = 0; i < *count; i++) {
        if (names[i] == name)
            return i;
    }
    if (*count == MAX_NAMES) {
        fail(r, "fewer names");
        return 0;
    }
    names[*count] = name;
    return (*count)++;
}

static int value_name(reader *r)
{
    expect(r, "%");
    return name_in(r, r->picture->values, &r->picture->num_values);
}

static pdm_ir_attr literal(reader *r)
{
    pdm_ir_context *context = r->picture->context;
    pdm_ir_attr attr = NULL;

    blanks(r);
    if (take(r, "true") || take(r, "false")) {
        attr = pdm_ir_attr_bool(context, r->at[-1] == 'e' && r->at[-2] == 'u');
    } else if (take(r, "\"")) {
        const size_t len = strcspn(r->at, "\"");
        attr = pdm_ir_attr_strn(context, r->at, len);
        r->at += len;
        expect(r, "\"");
    } else {
        const size_t len = strspn(r->at, "-0123456789.");
        const char *end = r->at;
        char *int_end;
        if (memchr(r->at, '.', len)) {
            attr = pdm_ir_attr_f64(context, pdm_decimal_read(r->at, &end));
        } else {
            attr = pdm_ir_attr_i64(context, strtoll(r->at, &int_end, 10));
            end = int_end;
        }
        if (end == r->at)
            fail(r, "a literal");
        r->at = end;
    }
    r->nomem = r->nomem || !attr;
    return attr;
}

static void attribute(reader *r, node *n)
{
    if (take(r, "...")) {
        n->rest = true;
        return;
    }
    if (take(r, "like ")) {
        n->like = value_name(r);
        return;
    }
    if (n->num_attrs == MAX_ATTRS) {
        fail(r, "fewer attributes");
        return;
    }
    entry *e = &n->attrs[n->num_attrs++];
    const int index = pdm_ir_op_info_attr(n->info, word(r), 0);
    if (index < 0)
        fail(r, "an attribute of the op");
    *e = (entry){.index = (uint16_t)(index < 0 ? 0 : index), .name = -1};
    expect(r, ":");
    if (take(r, "$"))
        e->name = name_in(r, r->picture->attrs, &r->picture->num_attrs);
    else
        e->literal = literal(r);
}

static const pdm_ir_op_info *op_name(reader *r)
{
    const char *name = word(r);
    char full[96] = "pd_op.";
    pdm_status status;

    if (strlen(name) > 80)
        return NULL;
    strcpy(full + (strchr(name, '.') ? 0 : 6), name);
    const pdm_ir_op_info *info = pdm_ir_op_info_get(r->picture->context, full, &status);
    if (!info || !info->desc) {
        r->nomem = r->nomem || status == PDM_NOMEM;
        fail(r, "a known op");
        return NULL;
    }
    return info;
}

static void line(reader *r, node *n)
{
    *n = (node){.like = -1};
    n->result = value_name(r);
    n->shared = take(r, "+");
    if (!take(r, "="))
        return;
    n->info = op_name(r);
    expect(r, "(");
    while (!r->fault && !take(r, ")")) {
        if (n->num_operands == MAX_OPERANDS)
            fail(r, "fewer operands");
        else
            n->operands[n->num_operands++] = take(r, "none") ? NO_VALUE : value_name(r);
        take(r, ",");
    }
    if (!r->fault && take(r, "{")) {
        while (!r->fault && !take(r, "}")) {
            attribute(r, n);
            take(r, ",");
        }
    }
    if (!r->fault && n->num_operands != n->info->desc->num_operands)
        fail(r, "as many operands as the op has");
}

static int lines(reader *r, const char *text, node *out)
{
    int count = 0;

    r->at = text;
    for (blanks(r); *r->at && !r->fault; blanks(r)) {
        if (count == MAX_NODES)
            fail(r, "fewer lines");
        else
            line(r, &out[count++]);
    }
    return count;
}

/* What a line does not say must have a default to be compared with. */
static void check_from(reader *r, const node *n)
{
    for (uint16_t i = 0; !r->fault && !n->rest && i < n->info->desc->num_attrs; i++) {
        bool named = n->info->desc->attrs[i].default_json != NULL;
        for (int k = 0; k < n->num_attrs; k++)
            named = named || n->attrs[k].index == i;
        if (!named)
            fail(r, "all attributes without a default, or ...");
    }
}

static void finish(reader *r)
{
    pdm_ir_picture *p = r->picture;

    if (p->num_from == 0 || p->num_to == 0)
        fail(r, "lines");
    for (int i = 0; i < MAX_NAMES; i++)
        p->maker[i] = -1;
    for (int i = 0; !r->fault && i < p->num_from; i++) {
        if (!p->from[i].info)
            fail(r, "ops");
        else
            check_from(r, &p->from[i]);
        p->maker[p->from[i].result] = i;
    }
    for (int i = 0; !r->fault && i < p->num_to; i++) {
        if (!p->to[i].info && p->num_to > 1)
            fail(r, "ops, or one value");
    }
}

pdm_status pdm_ir_picture_create(pdm_ir_context *context, const pdm_ir_pattern *pattern,
                                 pdm_diag_sink *sink, pdm_ir_picture **out_picture)
{
    pdm_ir_picture *picture = calloc(1, sizeof *picture);
    reader r = {.picture = picture};

    if (!picture)
        return PDM_NOMEM;
    picture->pattern = pattern;
    picture->context = context;
    picture->num_from = lines(&r, pattern->from, picture->from);
    picture->num_to = r.fault ? 0 : lines(&r, pattern->to, picture->to);
    if (!r.fault)
        finish(&r);
    if (!r.fault && !r.nomem) {
        *out_picture = picture;
        return PDM_OK;
    }
    free(picture);
    if (r.nomem)
        return PDM_NOMEM;
    return pdm_diag(sink, PDM_D_INTERNAL, NULL, NULL, "pattern '%s' wants %s at \"%.20s\"",
                    pattern->name, r.fault, r.at);
}

void pdm_ir_picture_destroy(pdm_ir_picture *picture)
{
    free(picture);
}

const pdm_ir_op_info *pdm_ir_picture_root(const pdm_ir_picture *picture)
{
    return picture->from[picture->num_from - 1].info;
}

/* ---- matching -------------------------------------------------------------------------------- */

static bool attr_fits(pdm_ir_match *m, const entry *e, pdm_ir_attr attr)
{
    if (!attr)
        return false;
    if (e->name < 0)
        return pdm_ir_attr_means_same(attr, e->literal);
    if (m->attrs[e->name])
        return pdm_ir_attr_means_same(attr, m->attrs[e->name]);
    m->attrs[e->name] = attr;
    return true;
}

static bool attrs_fit(pdm_ir_match *m, const node *n, const pdm_ir_op *op)
{
    for (int i = 0; i < n->num_attrs; i++) {
        if (!attr_fits(m, &n->attrs[i], pdm_ir_op_row_attr(op, n->attrs[i].index)))
            return false;
    }
    for (uint16_t i = 0; !n->rest && i < op->info->desc->num_attrs; i++) {
        const pdm_ir_attr attr = pdm_ir_op_row_attr(op, i);
        bool named = false;
        for (int k = 0; k < n->num_attrs; k++)
            named = named || n->attrs[k].index == i;
        if (named || !attr)
            continue;
        const pdm_ir_attr usual = pdm_ir_op_info_default(op->info, i);
        if (!usual)
            m->rw->status = PDM_NOMEM;
        if (!usual || !pdm_ir_attr_means_same(attr, usual))
            return false;
    }
    return true;
}

static bool match_node(pdm_ir_match *m, int index, pdm_ir_op *op);

static bool match_value(pdm_ir_match *m, int name, pdm_ir_value *value)
{
    const int line_of = name < 0 ? -1 : m->picture->maker[name];

    if (name == NO_VALUE || !value)
        return name == NO_VALUE && !value;
    if (m->values[name])
        return m->values[name] == value;
    m->values[name] = value;
    if (line_of < 0)
        return true;
    pdm_ir_op *op = pdm_ir_rw_maker(m->rw, value, !m->picture->from[line_of].shared);
    return op && pdm_ir_value_index(value) == 0 && match_node(m, line_of, op);
}

static bool match_operands(pdm_ir_match *m, const node *n, const pdm_ir_op *op, bool turned)
{
    for (int i = 0; i < n->num_operands; i++) {
        const size_t at = (size_t)(turned ? n->num_operands - 1 - i : i);
        if (!match_value(m, n->operands[i], pdm_ir_op_operand_value(op, at)))
            return false;
    }
    return true;
}

static bool match_node(pdm_ir_match *m, int index, pdm_ir_op *op)
{
    const node *n = &m->picture->from[index];

    if (op->info != n->info || op->num_operands != (uint32_t)n->num_operands ||
        op->num_regions > 0 || !attrs_fit(m, n, op))
        return false;
    m->ops[index] = op;
    m->values[n->result] = pdm_ir_op_result(op, 0);
    const pdm_ir_match before = *m;
    if (match_operands(m, n, op, false))
        return true;
    if (!pdm_ir_commutes(op))
        return false;
    *m = before;
    return match_operands(m, n, op, true);
}

/* ---- rewriting ------------------------------------------------------------------------------- */

static pdm_ir_attr attr_for(const pdm_ir_match *m, const node *n, uint16_t index)
{
    for (int i = 0; i < n->num_attrs; i++) {
        const entry *e = &n->attrs[i];
        if (e->index == index)
            return e->name >= 0 ? m->attrs[e->name] : e->literal;
    }
    if (n->like < 0 || m->picture->maker[n->like] < 0)
        return NULL;
    return pdm_ir_op_attr(m->ops[m->picture->maker[n->like]], n->info->attr_names[index]);
}

static pdm_ir_op *make_node(pdm_ir_match *m, const node *n)
{
    pdm_ir_make_attr attrs[PDM_IR_MAX_ROW_ATTRS + 1];
    pdm_ir_value *operands[MAX_OPERANDS];
    size_t count = 0;

    for (uint16_t i = 0; i < n->info->desc->num_attrs; i++) {
        const pdm_ir_attr attr = attr_for(m, n, i);
        if (attr)
            attrs[count++] = (pdm_ir_make_attr){n->info->attr_names[i], attr};
    }
    attrs[count] = (pdm_ir_make_attr){0};
    for (int i = 0; i < n->num_operands; i++)
        operands[i] = n->operands[i] < 0 ? NULL : m->values[n->operands[i]];
    return pdm_ir_rw_make(m->rw, n->info->code, operands, (size_t)n->num_operands, attrs);
}

static bool rewrite(pdm_ir_match *m, pdm_ir_op *op)
{
    const pdm_ir_picture *p = m->picture;
    pdm_ir_op *made = NULL;

    if (!p->to[0].info)
        return pdm_ir_rw_forward(m->rw, op, m->values[p->to[0].result]);
    for (int i = 0; i < p->num_to; i++) {
        made = make_node(m, &p->to[i]);
        if (!made)
            return false; /* what was made so far has no readers and goes by itself */
        m->values[p->to[i].result] = pdm_ir_op_result(made, 0);
    }
    return pdm_ir_rw_replace(m->rw, op, made);
}

bool pdm_ir_picture_apply(const pdm_ir_picture *picture, pdm_ir_rewriter *rw, pdm_ir_op *op)
{
    pdm_ir_match m = {.picture = picture, .rw = rw};

    return match_node(&m, picture->num_from - 1, op) &&
           (!picture->pattern->where || picture->pattern->where(&m)) && rw->status == PDM_OK &&
           rewrite(&m, op);
}

/* ---- for conditions -------------------------------------------------------------------------- */

static int find(const char *const *names, int count, const char *name)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0)
            return i;
    }
    return -1;
}

const pdm_ir_rewriter *pdm_ir_match_rewriter(const pdm_ir_match *match)
{
    return match->rw;
}

pdm_ir_value *pdm_ir_match_value(const pdm_ir_match *match, const char *name)
{
    const int i = find(match->picture->values, match->picture->num_values, name);

    return i < 0 ? NULL : match->values[i];
}

pdm_ir_attr pdm_ir_match_attr(const pdm_ir_match *match, const char *name)
{
    const int i = find(match->picture->attrs, match->picture->num_attrs, name);

    return i < 0 ? NULL : match->attrs[i];
}

bool pdm_ir_match_set(pdm_ir_match *match, const char *name, pdm_ir_attr attr)
{
    const int i = find(match->picture->attrs, match->picture->num_attrs, name);

    if (!attr || i < 0) {
        match->rw->status = attr ? PDM_INTERNAL : PDM_NOMEM;
        return false;
    }
    match->attrs[i] = attr;
    return true;
}

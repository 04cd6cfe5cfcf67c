/* Convolution of channels-last images: rows of a matrix are places, columns output channels. */
#include "exec/fast/conv_impl.h"

#include <string.h>

#include "base/checked.h"
#include "exec/fast/dense.h"

/* ---- calls ----------------------------------------------------------------------------------- */

static bool floats(pdm_k *k, const pdm_tensor *t)
{
    if (t && t->dtype != PDM_F32)
        pdm_k_fail(k, "an operand is no float32");
    return PDM_K_OK(k);
}

static bool read_shape(pdm_k *k, pdm_fast_conv *c)
{
    int64_t shape[PDM_K_MAX_INTS];
    const size_t rank = pdm_k_ints(k, "filter_shape", shape);
    pdm_nn_window *w = &c->w;

    if (!PDM_K_OK(k))
        return false;
    if (rank != 4 || w->spatial != 2) {
        pdm_k_fail(k, "operand and filter have %d and %zu dimensions", w->spatial + 2, rank);
        return false;
    }
    c->channels = shape[0];
    c->in_group = shape[1];
    w->kernel[1] = shape[2];
    w->kernel[2] = shape[3];
    c->groups = pdm_k_int(k, "groups");
    for (int i = 0; i < 4 && PDM_K_OK(k); i++) {
        if (shape[i] < 1 || shape[i] > INT32_MAX)
            pdm_k_fail(k, "the filter has a dimension of %lld", (long long)shape[i]);
    }
    if (PDM_K_OK(k) && (c->groups < 1 || c->channels % c->groups != 0 ||
                        w->channels != c->groups * c->in_group))
        pdm_k_fail(k, "%lld channels do not fit the filter in %lld groups", (long long)w->channels,
                   (long long)c->groups);
    return PDM_K_OK(k);
}

static bool read_window(pdm_k *k, pdm_fast_conv *c)
{
    const char *algorithm = pdm_k_str(k, "padding_algorithm");
    pdm_nn_window *w = &c->w;

    if (!pdm_nn_window_attr(k, w, "strides", 1, w->stride) ||
        !pdm_nn_window_attr(k, w, "dilations", 1, w->dilation) ||
        !pdm_nn_window_pads(k, w, "paddings", algorithm, false))
        return false;
    c->dims[0] = w->batch;
    c->dims[3] = c->channels;
    for (int d = 1; d < 3; d++) {
        if (!strcmp(algorithm, "SAME"))
            w->dilation[d] = 1;
        const int64_t room =
            w->in[d] + w->before[d] + w->after[d] - w->dilation[d] * (w->kernel[d] - 1) - 1;
        if (room < 0) {
            pdm_k_fail(k, "the kernel is larger than the padded operand");
            return false;
        }
        w->out[d] = c->dims[d] = room / w->stride[d] + 1;
    }
    return true;
}

bool pdm_fast_conv_read(pdm_k *k, pdm_fast_conv *c)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *filter = pdm_k_in(k, 1), *bias = pdm_k_in_opt(k, 2);
    uint64_t count;

    if (!floats(k, x) || !floats(k, filter) || !floats(k, bias) ||
        !pdm_nn_window_input(k, &c->w, x, "NHWC") || !read_shape(k, c) || !read_window(k, c))
        return false;
    if (bias && pdm_tensor_count(bias) != c->channels)
        return pdm_k_fail(k, "the bias has another number of channels"), false;
    if (!pdm_count_elements(c->dims, 4, &count) || count > INT64_MAX / 8)
        return pdm_k_fail(k, "the result is too large"), false;
    c->out_group = c->channels / c->groups;
    c->x = x->data;
    c->filter = filter->data;
    c->bias = bias ? bias->data : NULL;
    return true;
}

bool pdm_fast_conv_begin(pdm_k *k, pdm_fast_conv *c)
{
    if (!pdm_fast_conv_read(k, c) || !pdm_post_read(k, 3, 4, c->dims, &c->post))
        return false;
    const int64_t count = c->dims[0] * c->dims[1] * c->dims[2] * c->dims[3];
    c->y = c->post.grows ? pdm_k_temp(k, (size_t)count * sizeof *c->y)
                         : pdm_k_out(k, 0, PDM_F32, 4, c->dims);
    if (count == 0)
        c->y = NULL;
    return PDM_K_OK(k);
}

bool pdm_fast_conv_filter_is(pdm_k *k, int64_t wanted)
{
    const pdm_tensor *filter = pdm_k_in(k, 1);

    if (filter && pdm_tensor_count(filter) != wanted)
        pdm_k_fail(k, "the filter was not packed for this machine");
    return PDM_K_OK(k);
}

pdm_status pdm_fast_conv_end(pdm_k *k, pdm_fast_conv *c)
{
    if (!PDM_K_OK(k) || !c->post.grows)
        return k->status;
    return pdm_post_expand(k, &c->post, c->y, 4, c->dims);
}

/* ---- places ---------------------------------------------------------------------------------- */

enum {
    BLOCK = 24,       /* places that are worked on at a time; whole tiles of all widths but one */
    PLAIN_BLOCK = 48, /* where nothing is to be gathered */
    MAX_PIECES = 256
};

typedef struct conv {
    pdm_fast_conv c;
    bool plain; /* a matrix as it is: kernel 1, stride 1, no padding */
    int64_t depth, group_floats, places, block;
    const float *bias; /* padded, group by group */
    int64_t padded;    /* columns of a group */
    int panels, parts; /* panels of a group, and in how many parts they are done */
    int64_t pieces[MAX_PIECES], length;
    int num_pieces;
    int64_t line_blocks; /* blocks of a line of the result, which no block leaves; 0: blocks know no lines */
    int64_t local[MAX_PIECES], span; /* pieces in a copy of the image under a block; columns of the copy */
    int64_t first_inside[2], end_inside[2]; /* places whose whole kernel is on the image, y and x */
} conv;

/* What a place needs: pieces of neighbouring floats. A row of a kernel is one piece if it can. */
static bool find_pieces(conv *v)
{
    const pdm_nn_window *w = &v->c.w;
    const bool rows = v->c.groups == 1 && w->dilation[2] == 1;
    const int64_t per_row = rows ? 1 : w->kernel[2];

    if (w->kernel[1] * per_row > MAX_PIECES)
        return false;
    v->num_pieces = (int)(w->kernel[1] * per_row);
    v->length = rows ? w->kernel[2] * v->c.in_group : v->c.in_group;
    for (int i = 0; i < v->num_pieces; i++)
        v->pieces[i] = (i / per_row * w->dilation[1] * w->in[2] + i % per_row * w->dilation[2]) *
                       w->channels;
    return true;
}

static void find_inside(conv *v)
{
    const pdm_nn_window *w = &v->c.w;

    for (int d = 0; d < 2; d++) {
        const int64_t stride = w->stride[d + 1], before = w->before[d + 1];
        const int64_t last = w->in[d + 1] + before - w->dilation[d + 1] * (w->kernel[d + 1] - 1) - 1;
        v->first_inside[d] = before > 0 ? (before + stride - 1) / stride : 0;
        v->end_inside[d] = last < 0 ? 0 : last / stride + 1;
    }
}

typedef struct place {
    int64_t image, y, x;
} place;

static place place_at(const conv *v, int64_t row)
{
    const int64_t *out = v->c.w.out;

    return (place){row / (out[1] * out[2]), row / out[2] % out[1], row % out[2]};
}

/* Where the kernel of a place begins in the image. */
static int64_t offset_of(const conv *v, place p)
{
    const pdm_nn_window *w = &v->c.w;
    const int64_t y = p.y * w->stride[1] - w->before[1], x = p.x * w->stride[2] - w->before[2];

    return ((p.image * w->in[1] + y) * w->in[2] + x) * w->channels;
}

static bool is_inside(const conv *v, place p, int64_t count)
{
    return p.y >= v->first_inside[0] && p.y < v->end_inside[0] && p.x >= v->first_inside[1] &&
           p.x + count <= v->end_inside[1];
}

static void gather_row(const conv *v, place p, int64_t group, float *to)
{
    const pdm_nn_window *w = &v->c.w;
    const int64_t n = v->c.in_group;
    const float *image = v->c.x + p.image * w->in[1] * w->in[2] * w->channels + group * n;

    for (int64_t i = 0; i < w->kernel[1]; i++) {
        const int64_t y = p.y * w->stride[1] - w->before[1] + i * w->dilation[1];
        for (int64_t j = 0; j < w->kernel[2]; j++, to += n) {
            const int64_t x = p.x * w->stride[2] - w->before[2] + j * w->dilation[2];
            if (y >= 0 && y < w->in[1] && x >= 0 && x < w->in[2])
                memcpy(to, image + (y * w->in[2] + x) * w->channels, (size_t)n * sizeof *to);
            else
                memset(to, 0, (size_t)n * sizeof *to);
        }
    }
}

/* The part of the image under places of one line, with zeros around it: less to copy than each place by itself. */
static void copy_under(const conv *v, place p, int64_t rows, float *to)
{
    const pdm_nn_window *w = &v->c.w;
    const int64_t n = w->channels, x = p.x * w->stride[2] - w->before[2];
    const int64_t cols = (rows - 1) * w->stride[2] + w->kernel[2];
    int64_t begin = x < 0 ? -x : 0, end = w->in[2] - x < cols ? w->in[2] - x : cols;
    const float *image = v->c.x + p.image * w->in[1] * w->in[2] * n;

    begin = begin < cols ? begin : cols;
    end = end > begin ? end : begin;
    for (int64_t i = 0; i < w->kernel[1]; i++, to += v->span * n) {
        const int64_t y = p.y * w->stride[1] - w->before[1] + i * w->dilation[1];
        if (y < 0 || y >= w->in[1] || begin == end) {
            memset(to, 0, (size_t)(cols * n) * sizeof *to);
            continue;
        }
        memset(to, 0, (size_t)(begin * n) * sizeof *to);
        memcpy(to + begin * n, image + (y * w->in[2] + x + begin) * n,
               (size_t)((end - begin) * n) * sizeof *to);
        memset(to + end * n, 0, (size_t)((cols - end) * n) * sizeof *to);
    }
}

/* Lines of at least a block, whose places share much of what is under them. */
static void divide_lines(conv *v)
{
    const pdm_nn_window *w = &v->c.w;

    v->span = (v->block - 1) * w->stride[2] + w->kernel[2];
    if (v->plain || v->c.groups > 1 || w->dilation[2] != 1 || v->num_pieces != w->kernel[1] ||
        w->out[2] < v->block || v->span > v->block * w->kernel[2])
        return;
    v->line_blocks = (w->out[2] + v->block - 1) / v->block;
    for (int i = 0; i < v->num_pieces; i++)
        v->local[i] = i * v->span * w->channels;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static void run_block(const conv *v, int64_t row, int64_t rows, int begin, int end, float *room)
{
    const pdm_fast_conv *c = &v->c;
    const place first = place_at(v, row);
    const int64_t whole = 0;
    const bool direct = v->plain || is_inside(v, first, rows);

    for (int64_t g = 0; g < c->groups; g++) {
        pdm_dense_rows x = {.pieces = v->pieces, .num_pieces = v->num_pieces, .length = v->length};
        const pdm_dense d = {.depth = v->depth,
                             .cols = c->out_group,
                             .weights = c->filter + g * v->group_floats,
                             .even = c->in_group % 2 == 0,
                             .bias = v->bias ? v->bias + g * v->padded : NULL,
                             .y = c->y + g * c->out_group,
                             .stride = c->channels,
                             .post = pdm_fast_conv_post(c),
                             .channel = g * c->out_group};
        if (direct) {
            x.first = c->x + (v->plain ? row * c->w.channels : offset_of(v, first)) +
                      g * c->in_group;
            x.stride = c->w.channels * (v->plain ? 1 : c->w.stride[2]);
        } else if (v->line_blocks > 0) {
            copy_under(v, first, rows, room);
            x.pieces = v->local;
            x.first = room;
            x.stride = c->w.channels * c->w.stride[2];
        } else {
            for (int64_t i = 0; i < rows; i++)
                gather_row(v, place_at(v, row + i), g, room + i * v->depth);
            x = (pdm_dense_rows){room, v->depth, &whole, 1, v->depth};
        }
        pdm_dense_run(&d, &x, row, rows, begin, end);
    }
}

typedef struct work {
    const conv *v;
    float *rooms; /* one for each unit that is under way; NULL: none is needed */
    int64_t room;
} work;

static void run_units(void *arg, int64_t begin, int64_t end)
{
    const work *job = arg;
    const conv *v = job->v;
    float room[BLOCK * 1024];
    float *mine = job->room <= BLOCK * 1024 ? room : job->rooms + begin * job->room;

    for (int64_t u = begin; u < end; u++) {
        const int64_t block = u / v->parts, part = u % v->parts, width = v->c.w.out[2];
        int64_t row = block * v->block, left = v->places - row;
        if (v->line_blocks > 0) {
            row = block / v->line_blocks * width + block % v->line_blocks * v->block;
            left = width - row % width;
        }
        run_block(v, row, left < v->block ? left : v->block, (int)(v->panels * part / v->parts),
                  (int)(v->panels * (part + 1) / v->parts), mine);
    }
}

/* Blocks of places are units of work; where they are few, panels are told apart too. */
static pdm_status run(pdm_k *k, conv *v)
{
    const int64_t blocks = v->line_blocks > 0 ? v->places / v->c.w.out[2] * v->line_blocks
                                              : (v->places + v->block - 1) / v->block;
    const int64_t work_of_unit = v->block * v->depth * v->c.channels;
    work job = {.v = v, .room = v->plain ? 0 : BLOCK * v->depth};

    v->parts = 1;
    if (blocks < 16)
        v->parts = (int)(v->panels < 16 ? v->panels : 16);
    const int64_t units = blocks * v->parts;
    if (job.room > BLOCK * 1024) {
        job.rooms = pdm_k_temp(k, (size_t)(units * job.room) * sizeof *job.rooms);
        if (!job.rooms)
            return k->status;
    }
    pdm_k_parallel(k, units, 1 + 100000 / (work_of_unit / v->parts + 1), run_units, &job);
    return k->status;
}

static bool pad_bias(pdm_k *k, conv *v)
{
    const pdm_fast_conv *c = &v->c;

    if (!c->bias)
        return true;
    float *to = pdm_k_temp(k, (size_t)(c->groups * v->padded) * sizeof *to);
    if (!to)
        return false;
    v->bias = to;
    for (int64_t g = 0; g < c->groups; g++, to += v->padded)
        pdm_dense_pad_bias(c->bias + g * c->out_group, c->out_group, to);
    return true;
}

pdm_status pdm_kernel_fast_conv2d(pdm_k *k)
{
    conv v = {.num_pieces = 1};
    pdm_fast_conv *c = &v.c;

    if (!pdm_fast_conv_begin(k, c))
        return k->status;
    const pdm_nn_window *w = &c->w;
    v.depth = pdm_nn_mul(k, pdm_nn_mul(k, w->kernel[1], w->kernel[2]), c->in_group);
    v.padded = pdm_dense_padded(c->out_group);
    v.group_floats = pdm_nn_mul(k, v.depth, v.padded);
    if (!PDM_K_OK(k) || !pdm_fast_conv_filter_is(k, pdm_nn_mul(k, v.group_floats, c->groups)) ||
        !pad_bias(k, &v))
        return k->status;
    v.plain = w->kernel[1] == 1 && w->kernel[2] == 1 && w->stride[1] == 1 && w->stride[2] == 1 &&
              w->out[1] == w->in[1] && w->out[2] == w->in[2];
    v.places = w->batch * w->out[1] * w->out[2];
    v.panels = pdm_dense_panels(c->out_group);
    v.block = v.plain ? PLAIN_BLOCK : BLOCK;
    find_inside(&v);
    if (!find_pieces(&v))
        v.end_inside[0] = 0;
    else
        divide_lines(&v);
    if (c->y && run(k, &v) != PDM_OK)
        return k->status;
    return pdm_fast_conv_end(k, c);
}

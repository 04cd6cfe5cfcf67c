#include "cinn/native.h"

#if defined(__x86_64__) && defined(__ELF__)

#include <cpuid.h>
#include <elf.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cinn/calls.h"

/* ---- the processor --------------------------------------------------------------------------- */

static void leaf(pdm_buf *out, unsigned number, unsigned sub, const unsigned masks[4])
{
    unsigned v[4] = {0};

    if (!__get_cpuid_count(number, sub, &v[0], &v[1], &v[2], &v[3]))
        memset(v, 0, sizeof v);
    for (int i = 0; i < 4; i++)
        pdm_buf_printf(out, "%s%x", i ? "." : " ", v[i] & masks[i]);
}

/* Registers that the system saves: AVX and the like are of no use without. */
static unsigned saved_registers(void)
{
    unsigned a, b, c, d;

    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE))
        return 0;
    __asm__("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
    return a;
}

bool pdm_cinn_native_target(pdm_buf *out)
{
    enum { ALL = -1 };
    static const struct {
        unsigned number, sub, masks[4];
    } leaves[] = {
        {0, 0, {0, ALL, ALL, ALL}},         /* who made it */
        {1, 0, {ALL, 0, ALL, ALL}},         /* which, and features; EBX tells which core this is */
        {7, 0, {ALL, ALL, ALL, ALL}},       {7, 1, {ALL, ALL, ALL, ALL}},
        {0xd, 1, {ALL, 0, 0, 0}},           {0x14, 0, {0, ALL, 0, 0}},
        {0x19, 0, {0, ALL, 0, 0}},          {0x80000001, 0, {0, 0, ALL, ALL}},
        {0x80000008, 0, {0, ALL, 0, 0}},
    };

    pdm_buf_puts(out, "x86-64");
    for (size_t i = 0; i < sizeof leaves / sizeof *leaves; i++)
        leaf(out, leaves[i].number, leaves[i].sub, leaves[i].masks);
    pdm_buf_printf(out, " %x", saved_registers());
    return true;
}

/* ---- an object ------------------------------------------------------------------------------- */

enum { MAX_SECTIONS = 4096, MAX_PLACED = 1 << 28, STUB = 16 };

typedef struct object {
    const unsigned char *data;
    size_t size;
    const Elf64_Ehdr *head;
    const Elf64_Shdr *sections;
    const Elf64_Sym *symbols;
    size_t num_symbols;
    const char *names; /* of symbols; ends with a NUL */
    size_t names_size;
    size_t *places;    /* of sections in memory; SIZE_MAX: not there */
    size_t stubs, end; /* the places of stubs, one a symbol, begin and end here */
    unsigned char *map;
} object;

/* A table in the file, or NULL. */
static const void *table(const object *o, uint64_t offset, uint64_t size, size_t alignment)
{
    if (offset > o->size || size > o->size - offset || offset % alignment)
        return NULL;
    return o->data + offset;
}

static bool read_head(object *o)
{
    const Elf64_Ehdr *h = o->head = table(o, 0, sizeof *h, 1);

    if (!h || memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 || h->e_ident[EI_CLASS] != ELFCLASS64 ||
        h->e_ident[EI_DATA] != ELFDATA2LSB || h->e_type != ET_REL || h->e_machine != EM_X86_64 ||
        h->e_shentsize != sizeof *o->sections || h->e_shnum == 0 || h->e_shnum > MAX_SECTIONS)
        return false;
    o->sections = table(o, h->e_shoff, h->e_shnum * sizeof *o->sections, 8);
    return o->sections != NULL;
}

static bool read_symbols(object *o)
{
    for (unsigned i = 0; i < o->head->e_shnum; i++) {
        const Elf64_Shdr *s = &o->sections[i];
        if (s->sh_type != SHT_SYMTAB)
            continue;
        if (o->symbols || s->sh_link >= o->head->e_shnum || s->sh_entsize != sizeof *o->symbols)
            return false;
        const Elf64_Shdr *names = &o->sections[s->sh_link];
        o->symbols = table(o, s->sh_offset, s->sh_size, 8);
        o->num_symbols = s->sh_size / sizeof *o->symbols;
        o->names = table(o, names->sh_offset, names->sh_size, 1);
        o->names_size = names->sh_size;
        if (!o->symbols || !o->names || !o->names_size || o->names[o->names_size - 1])
            return false;
    }
    return o->symbols != NULL;
}

/* Tables for unwinding are not needed: nothing is thrown. */
static bool is_placed(const Elf64_Shdr *s)
{
    return (s->sh_flags & SHF_ALLOC) && s->sh_type == SHT_PROGBITS && s->sh_size > 0;
}

static bool lay_out(object *o)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t at = 0;

    o->places = malloc(o->head->e_shnum * sizeof *o->places);
    if (!o->places)
        return false;
    for (unsigned i = 0; i < o->head->e_shnum; i++) {
        const Elf64_Shdr *s = &o->sections[i];
        const size_t align = s->sh_addralign ? s->sh_addralign : 1;
        o->places[i] = SIZE_MAX;
        if ((s->sh_flags & SHF_ALLOC) && (s->sh_flags & (SHF_WRITE | SHF_TLS)))
            return false; /* code has no data of its own */
        if (!is_placed(s))
            continue;
        if (!table(o, s->sh_offset, s->sh_size, 1) || (align & (align - 1)) || align > page)
            return false;
        at = (at + align - 1) & ~(align - 1);
        o->places[i] = at;
        if (s->sh_size > MAX_PLACED - at)
            return false;
        at += s->sh_size;
    }
    o->stubs = (at + STUB - 1) & ~(size_t)(STUB - 1);
    if (o->num_symbols > MAX_PLACED / STUB)
        return false;
    o->end = (o->stubs + o->num_symbols * STUB + page - 1) & ~(page - 1);
    return true;
}

/* ---- references ------------------------------------------------------------------------------ */

static const char *name_of(const object *o, const Elf64_Sym *symbol)
{
    return symbol->st_name < o->names_size ? o->names + symbol->st_name : "";
}

/* The address of a symbol that the object defines; NULL: it does not. */
static const unsigned char *address_of(const object *o, const Elf64_Sym *symbol)
{
    if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= o->head->e_shnum ||
        o->places[symbol->st_shndx] == SIZE_MAX ||
        symbol->st_value > o->sections[symbol->st_shndx].sh_size)
        return NULL;
    return o->map + o->places[symbol->st_shndx] + symbol->st_value;
}

/*
 * Functions of the library may be farther away than calls reach: a stub has the address, and a jump
 * to it.
 */
static const unsigned char *stub_of(object *o, size_t index, const void *address)
{
    static const unsigned char jump[] = {0xff, 0x25, 0xf2, 0xff, 0xff, 0xff}; /* jmp [rip - 14] */
    unsigned char *stub = o->map + o->stubs + index * STUB;
    const uint64_t value = (uint64_t)(uintptr_t)address;

    memcpy(stub, &value, sizeof value);
    memcpy(stub + sizeof value, jump, sizeof jump);
    return stub;
}

static bool put_relative(unsigned char *at, const unsigned char *to, int64_t addend)
{
    const int64_t distance = (int64_t)((uintptr_t)to - (uintptr_t)at + (uintptr_t)addend);

    if (distance < INT32_MIN || distance > INT32_MAX)
        return false;
    const int32_t value = (int32_t)distance;
    memcpy(at, &value, sizeof value);
    return true;
}

static bool relocate(object *o, unsigned char *at, size_t room, const Elf64_Rela *r)
{
    const size_t index = ELF64_R_SYM(r->r_info);
    const size_t type = ELF64_R_TYPE(r->r_info);
    const bool wide = type == R_X86_64_64 || type == R_X86_64_PC64;

    if (index >= o->num_symbols || room < (wide ? 8U : 4U))
        return false;
    const Elf64_Sym *symbol = &o->symbols[index];
    const unsigned char *to = address_of(o, symbol);
    const void *outside = to ? NULL : pdm_cinn_call_address(name_of(o, symbol));
    if (!to && !outside)
        return false;
    switch (type) {
    case R_X86_64_64:
    case R_X86_64_PC64: {
        uint64_t value = (uint64_t)(uintptr_t)(to ? (const void *)to : outside) + (uint64_t)r->r_addend;
        value -= type == R_X86_64_PC64 ? (uint64_t)(uintptr_t)at : 0;
        memcpy(at, &value, sizeof value);
        return true;
    }
    case R_X86_64_PC32:
    case R_X86_64_PLT32:
        if (!to)
            to = stub_of(o, index, outside) + sizeof(uint64_t);
        return put_relative(at, to, r->r_addend);
    case R_X86_64_GOTPCREL:
    case R_X86_64_GOTPCRELX:
    case R_X86_64_REX_GOTPCRELX: /* the place of the address */
        return put_relative(at, stub_of(o, index, to ? (const void *)to : outside), r->r_addend);
    default:
        return false;
    }
}

static bool relocate_all(object *o)
{
    for (unsigned i = 0; i < o->head->e_shnum; i++) {
        const Elf64_Shdr *s = &o->sections[i];
        if (s->sh_type == SHT_REL)
            return false;
        if (s->sh_type != SHT_RELA || s->sh_info >= o->head->e_shnum ||
            o->places[s->sh_info] == SIZE_MAX)
            continue;
        const Elf64_Rela *list = table(o, s->sh_offset, s->sh_size, 8);
        const size_t size = o->sections[s->sh_info].sh_size;
        if (!list || s->sh_entsize != sizeof *list)
            return false;
        for (size_t k = 0; k < s->sh_size / sizeof *list; k++) {
            if (list[k].r_offset > size ||
                !relocate(o, o->map + o->places[s->sh_info] + list[k].r_offset,
                          size - list[k].r_offset, &list[k]))
                return false;
        }
    }
    return true;
}

/* ---- images ---------------------------------------------------------------------------------- */

static bool find_nests(const object *o, pdm_cinn_native *made)
{
    uint32_t found = 0;

    for (size_t i = 0; i < o->num_symbols; i++) {
        const char *name = name_of(o, &o->symbols[i]);
        const unsigned char *address = address_of(o, &o->symbols[i]);
        char *end;
        if (!address || ELF64_ST_BIND(o->symbols[i].st_info) != STB_GLOBAL ||
            strncmp(name, PDM_CINN_NATIVE_NEST, strlen(PDM_CINN_NATIVE_NEST)) != 0)
            continue;
        const unsigned long nest = strtoul(name + strlen(PDM_CINN_NATIVE_NEST), &end, 10);
        if (*end || nest >= made->num_nests || made->nests[nest])
            return false;
        memcpy(&made->nests[nest], &address, sizeof address);
        found++;
    }
    return found == made->num_nests;
}

static bool place(object *o, pdm_cinn_native *made)
{
    void *map = mmap(NULL, o->end, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (map == MAP_FAILED)
        return false;
    made->map = o->map = map;
    made->size = o->end;
    for (unsigned i = 0; i < o->head->e_shnum; i++) {
        if (o->places[i] != SIZE_MAX)
            memcpy(o->map + o->places[i], o->data + o->sections[i].sh_offset,
                   o->sections[i].sh_size);
    }
    return relocate_all(o) && find_nests(o, made) &&
           mprotect(map, o->end, PROT_READ | PROT_EXEC) == 0;
}

pdm_status pdm_cinn_native_load(const void *data, size_t size, uint32_t num_nests,
                           pdm_cinn_native **out_native)
{
    object o = {.data = data, .size = size};
    pdm_cinn_native *made = calloc(1, sizeof *made + num_nests * sizeof made->nests[0]);

    if (!made)
        return PDM_NOMEM;
    made->num_nests = num_nests;
    const bool good = (uintptr_t)data % 8 == 0 && read_head(&o) && read_symbols(&o) &&
                      lay_out(&o) && place(&o, made);
    free(o.places);
    if (!good) {
        pdm_cinn_native_destroy(made);
        return PDM_UNSUPPORTED;
    }
    *out_native = made;
    return PDM_OK;
}

void pdm_cinn_native_destroy(pdm_cinn_native *native)
{
    if (native && native->map)
        munmap(native->map, native->size);
    free(native);
}

#else

bool pdm_cinn_native_target(pdm_buf *out)
{
    (void)out;
    return false;
}

pdm_status pdm_cinn_native_load(const void *object, size_t size, uint32_t num_nests,
                           pdm_cinn_native **out_native)
{
    (void)object, (void)size, (void)num_nests, (void)out_native;
    return PDM_UNSUPPORTED;
}

void pdm_cinn_native_destroy(pdm_cinn_native *native)
{
    (void)native;
}

#endif

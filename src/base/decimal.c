#include "base/decimal.h"

#include <locale.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef unsigned __int128 wide;

/* f * 2^e */
typedef struct scaled {
    uint64_t f;
    int e;
} scaled;

/* 10^(FIRST_POWER + STEP*i), rounded to 64 bits. */
enum { FIRST_POWER = -300, STEP = 8 };
static const scaled powers[] = {
    {0xab70fe17c79ac6ca, -1060}, {0xff77b1fcbebcdc4f, -1034}, {0xbe5691ef416bd60c, -1007},
    {0x8dd01fad907ffc3c, -980},  {0xd3515c2831559a83, -954},  {0x9d71ac8fada6c9b5, -927},
    {0xea9c227723ee8bcb, -901},  {0xaecc49914078536d, -874},  {0x823c12795db6ce57, -847},
    {0xc21094364dfb5637, -821},  {0x9096ea6f3848984f, -794},  {0xd77485cb25823ac7, -768},
    {0xa086cfcd97bf97f4, -741},  {0xef340a98172aace5, -715},  {0xb23867fb2a35b28e, -688},
    {0x84c8d4dfd2c63f3b, -661},  {0xc5dd44271ad3cdba, -635},  {0x936b9fcebb25c996, -608},
    {0xdbac6c247d62a584, -582},  {0xa3ab66580d5fdaf6, -555},  {0xf3e2f893dec3f126, -529},
    {0xb5b5ada8aaff80b8, -502},  {0x87625f056c7c4a8b, -475},  {0xc9bcff6034c13053, -449},
    {0x964e858c91ba2655, -422},  {0xdff9772470297ebd, -396},  {0xa6dfbd9fb8e5b88f, -369},
    {0xf8a95fcf88747d94, -343},  {0xb94470938fa89bcf, -316},  {0x8a08f0f8bf0f156b, -289},
    {0xcdb02555653131b6, -263},  {0x993fe2c6d07b7fac, -236},  {0xe45c10c42a2b3b06, -210},
    {0xaa242499697392d3, -183},  {0xfd87b5f28300ca0e, -157},  {0xbce5086492111aeb, -130},
    {0x8cbccc096f5088cc, -103},  {0xd1b71758e219652c, -77},   {0x9c40000000000000, -50},
    {0xe8d4a51000000000, -24},   {0xad78ebc5ac620000, 3},     {0x813f3978f8940984, 30},
    {0xc097ce7bc90715b3, 56},    {0x8f7e32ce7bea5c70, 83},    {0xd5d238a4abe98068, 109},
    {0x9f4f2726179a2245, 136},   {0xed63a231d4c4fb27, 162},   {0xb0de65388cc8ada8, 189},
    {0x83c7088e1aab65db, 216},   {0xc45d1df942711d9a, 242},   {0x924d692ca61be758, 269},
    {0xda01ee641a708dea, 295},   {0xa26da3999aef774a, 322},   {0xf209787bb47d6b85, 348},
    {0xb454e4a179dd1877, 375},   {0x865b86925b9bc5c2, 402},   {0xc83553c5c8965d3d, 428},
    {0x952ab45cfa97a0b3, 455},   {0xde469fbd99a05fe3, 481},   {0xa59bc234db398c25, 508},
    {0xf6c69a72a3989f5c, 534},   {0xb7dcbf5354e9bece, 561},   {0x88fcf317f22241e2, 588},
    {0xcc20ce9bd35c78a5, 614},   {0x98165af37b2153df, 641},   {0xe2a0b5dc971f303a, 667},
    {0xa8d9d1535ce3b396, 694},   {0xfb9b7cd9a4a7443c, 720},   {0xbb764c4ca7a44410, 747},
    {0x8bab8eefb6409c1a, 774},   {0xd01fef10a657842c, 800},   {0x9b10a4e5e9913129, 827},
    {0xe7109bfba19c0c9d, 853},   {0xac2820d9623bf429, 880},   {0x80444b5e7aa7cf85, 907},
    {0xbf21e44003acdd2d, 933},   {0x8e679c2f5e44ff8f, 960},   {0xd433179d9c8cb841, 986},
    {0x9e19db92b4e31ba9, 1013},
};

/* After scaling the exponent is at least this, and at most 28 more: the integer part has at most 32
 * bits. */
enum { LEAST_EXPONENT = -60 };

static scaled multiply(scaled a, scaled b)
{
    const wide product = (wide)a.f * b.f + ((uint64_t)1 << 63);

    return (scaled){(uint64_t)(product >> 64), a.e + b.e + 64};
}

/* The value and the middles between it and its neighbours, all with the exponent that fills the
 * upper one's 64 bits. */
typedef struct interval {
    scaled low, value, high;
} interval;

static interval interval_of(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    const uint64_t fraction = bits & (((uint64_t)1 << 52) - 1);
    const int biased = (int)(bits >> 52);
    const uint64_t f = biased ? fraction | (uint64_t)1 << 52 : fraction;
    const int e = (biased ? biased : 1) - 1075;
    const uint64_t high = 2 * f + 1;
    const int shift = __builtin_clzll(high);
    const int at = e - 1 - shift;
    /* Below a power of two the neighbour is only half as far away. */
    const uint64_t low =
        fraction == 0 && biased > 1 ? (4 * f - 1) << (shift - 1) : (2 * f - 1) << shift;

    return (interval){{low, at}, {f << (shift + 1), at}, {high << shift, at}};
}

/* The smallest tabled power that brings exponent e to LEAST_EXPONENT or above. */
static size_t power_for(int e)
{
    const int needed = LEAST_EXPONENT - e - 1;
    /* ceil(needed * log10(2)); 78913 / 2^18 is near enough for all exponents of a double. */
    const int decimal = needed * 78913 / (1 << 18) + (needed > 0);

    return (size_t)(decimal - FIRST_POWER + STEP - 1) / STEP;
}

/*
 * The digits so far stand for a number below the interval's upper end, by rest. Lower the last one
 * while that brings it nearer to the value, which is gap below the upper end, and keeps it inside
 * the interval of width width. unit is one of the last digit.
 */
static void approach(pdm_decimal *out, uint64_t gap, uint64_t width, uint64_t rest, uint64_t unit)
{
    while (rest < gap && width - rest >= unit &&
           (rest + unit < gap || gap - rest > rest + unit - gap)) {
        out->digits[out->count - 1]--;
        rest += unit;
    }
}

/* Digits of the upper end, as few as stay within width of it; point counts from the number's last
 * digit at the end. */
static void generate(pdm_decimal *out, scaled high, uint64_t gap, uint64_t width)
{
    const int bits = -high.e;
    const uint64_t one = (uint64_t)1 << bits;
    uint32_t whole = (uint32_t)(high.f >> bits);
    uint64_t part = high.f & (one - 1);
    uint32_t unit = 1;
    int left = 1;

    while (whole / unit >= 10) {
        unit *= 10;
        left++;
    }
    for (; left > 0; unit /= 10) {
        out->digits[out->count++] = (char)('0' + whole / unit);
        whole %= unit;
        left--;
        const uint64_t rest = ((uint64_t)whole << bits) + part;
        if (rest <= width) {
            out->point += left;
            approach(out, gap, width, rest, (uint64_t)unit << bits);
            return;
        }
    }
    do {
        part *= 10;
        width *= 10;
        gap *= 10;
        out->digits[out->count++] = (char)('0' + (part >> bits));
        part &= one - 1;
        out->point--;
    } while (part > width);
    approach(out, gap, width, part, one);
}

void pdm_decimal_from_double(double value, pdm_decimal *out)
{
    const interval exact = interval_of(value);
    const size_t p = power_for(exact.high.e);
    const scaled low = multiply(exact.low, powers[p]);
    const scaled middle = multiply(exact.value, powers[p]);
    const scaled high = multiply(exact.high, powers[p]);

    /* Each product is off by less than one: shrink the interval by that, so that all of it reads
     * back. */
    out->count = 0;
    out->point = -(FIRST_POWER + STEP * (int)p);
    generate(out, (scaled){high.f - 1, high.e}, high.f - 1 - middle.f, high.f - low.f - 2);
    out->point += out->count;
    while (out->count > 1 && out->digits[out->count - 1] == '0')
        out->count--;
}

/* The locale's decimal point ends a number here as any other character does. */
static double read_foreign(const char *text, const char *point, const char **out_end)
{
    enum { LONGEST = 1000, WIDTH_MAX = 8 };
    char copy[LONGEST + WIDTH_MAX + 1], *end;
    const char *foreign = strstr(text, point);
    const size_t width = strlen(point);
    size_t size = strnlen(text, LONGEST + 1), used;

    *out_end = text;
    if (width > WIDTH_MAX)
        return 0;
    if (foreign && (size_t)(foreign - text) < size)
        size = (size_t)(foreign - text);
    const char *dot = memchr(text, '.', size);
    const size_t at = dot ? (size_t)(dot - text) : size;
    memcpy(copy, text, at);
    if (dot) {
        memcpy(copy + at, point, width);
        memcpy(copy + at + width, dot + 1, size - at - 1);
    }
    copy[dot ? size - 1 + width : size] = '\0';
    const double value = strtod(copy, &end);
    used = (size_t)(end - copy);
    if (used > at)
        used -= width - 1;
    if (used > LONGEST)
        return 0;
    *out_end = text + used;
    return value;
}

double pdm_decimal_read(const char *text, const char **out_end)
{
    const char *point = localeconv()->decimal_point, *stop;
    char *end;
    double value;

    if (strcmp(point, ".") == 0) {
        value = strtod(text, &end);
        stop = end;
    } else {
        value = read_foreign(text, point, &stop);
    }
    if (out_end)
        *out_end = stop;
    return value;
}

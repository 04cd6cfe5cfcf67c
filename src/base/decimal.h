/*
 * Decimal digits of a double, with the digits that Paddle's JSON writer chooses: they always read
 * back as the same value, are at most 17, and in more than 99 of 100 cases the fewest that do. (The
 * writer uses the Grisu2 method of Florian Loitsch's "Printing Floating-Point Numbers Quickly and
 * Accurately with Integers", PLDI 2010; where that misses the shortest digits, so must we, to write
 * the same bytes.) No locale, no allocation.
 */
#ifndef PDM_BASE_DECIMAL_H
#define PDM_BASE_DECIMAL_H

enum { PDM_MAX_DIGITS = 17 };

/* 0.DIGITS * 10^point: the first and last digit are not 0. */
typedef struct pdm_decimal {
    char digits[PDM_MAX_DIGITS]; /* '0' to '9', no NUL */
    int count, point;
} pdm_decimal;

/* value is finite and above 0. */
void pdm_decimal_from_double(double value, pdm_decimal *out);

/* strtod with a decimal point in every locale. Where the locale's is another, a number of more than
 * 1000 characters is none: *out_end is text then. out_end may be NULL. */
double pdm_decimal_read(const char *text, const char **out_end);

#endif

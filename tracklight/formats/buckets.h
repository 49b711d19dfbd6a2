/* Sums of numbers and counts of them in buckets, for REAL and with SUFFIX in their names: to be
   included once for each type. The numbers that are counted must be finite. */

#include <stdint.h>
#include <string.h>

#ifndef TRACKLIGHT_BUCKETS_H
#define TRACKLIGHT_BUCKETS_H

#define TL_JOIN_(a, b) a##b
#define TL_JOIN(a, b) TL_JOIN_(a, b)

typedef struct {
    double low, high, sum, sum_squares;
} tl_totals;

/* Sums that go on side by side, as each addition has to wait for the one before. */
#define TL_LANES 8

/* Numbers that come one after the other often share a bucket, and would wait for it as well: so
   there are four rows of counts, to be added up. */
#define TL_ROWS 4
#define TL_BLOCK 512

/* Limits that grow by a tenth are at most one to a cell: to all doubles that share the exponent and
   the first four bits of the mantissa. For each cell, how many limits are at or below its start. */
#define TL_CELLS 0x8000

static void tl_fill_cells(const double *limits, int64_t n, int16_t *cells) {
    int64_t below = 0;
    for (uint64_t cell = 0; cell < TL_CELLS; cell++) {
        uint64_t bits = cell << 48;
        double start;
        memcpy(&start, &bits, 8);
        while (below < n && limits[below] <= start) below++;
        cells[cell] = (int16_t)below;
    }
}

#endif

/* Of at least one number. One that is not finite makes the sum of squares infinite, or no number. */
static void TL_JOIN(tl_sum_up_, SUFFIX)(const REAL *values, int64_t n, tl_totals *totals) {
    double sums[TL_LANES] = {0}, squares[TL_LANES] = {0};
    REAL lows[TL_LANES], highs[TL_LANES];
    int64_t whole = n - n % TL_LANES;
    for (int k = 0; k < TL_LANES; k++) lows[k] = highs[k] = values[0];
    for (int64_t i = 0; i < whole; i += TL_LANES)
        for (int k = 0; k < TL_LANES; k++) {
            REAL value = values[i + k];
            sums[k] += value;
            squares[k] += (double)value * value;
            lows[k] = value < lows[k] ? value : lows[k];
            highs[k] = value > highs[k] ? value : highs[k];
        }
    for (int64_t i = whole; i < n; i++) {
        sums[0] += values[i];
        squares[0] += (double)values[i] * values[i];
        lows[0] = values[i] < lows[0] ? values[i] : lows[0];
        highs[0] = values[i] > highs[0] ? values[i] : highs[0];
    }
    *totals = (tl_totals){lows[0], highs[0], 0, 0};
    for (int k = 0; k < TL_LANES; k++) {
        totals->low = lows[k] < totals->low ? lows[k] : totals->low;
        totals->high = highs[k] > totals->high ? highs[k] : totals->high;
        totals->sum += sums[k];
        totals->sum_squares += squares[k];
    }
}

/* Buckets of one width from low to high, the last one closed. */
static void TL_JOIN(tl_count_uniform_, SUFFIX)(const REAL *values, int64_t n, double low,
                                               double width, int64_t buckets, int64_t *counts) {
    int32_t at[TL_BLOCK];
    double last = (double)(buckets - 1);
    for (int64_t start = 0; start < n; start += TL_BLOCK) {
        int64_t size = n - start < TL_BLOCK ? n - start : TL_BLOCK;
        for (int64_t i = 0; i < size; i++) {
            double bucket = ((double)values[start + i] - low) / width;
            /* In this order, what is no number (the width may be 0) is in the last as well. */
            at[i] = (int32_t)(bucket < last ? bucket : last);
        }
        int64_t whole = size - size % TL_ROWS;
        for (int64_t i = 0; i < whole; i += TL_ROWS)
            for (int64_t row = 0; row < TL_ROWS; row++) counts[row * buckets + at[i + row]]++;
        for (int64_t i = whole; i < size; i++) counts[at[i]]++;
    }
}

/* The buckets lie between these edges, half open: the limits with a minus sign, zero, the limits.
   counts[0] and the last are for what is outside, so there are 2 n + 2. Zero stands before the
   limits in the array and infinity after them, so that no end has to be looked for. */
static void TL_JOIN(tl_count_exponential_, SUFFIX)(const REAL *values, int64_t size,
                                                   const double *limits, int64_t n,
                                                   const int16_t *cells, int64_t *counts) {
    for (int64_t i = 0; i < size; i++) {
        uint64_t bits;
        double value = values[i], magnitude;
        memcpy(&bits, &value, 8);
        uint64_t size_bits = bits & (UINT64_MAX >> 1);
        /* All ones for a negative number, which -0.0 is not: signs cannot be foretold, so a branch
           on them would cost more than all the rest. */
        int64_t mask = -(int64_t)((bits >> 63) & (size_bits != 0));
        memcpy(&magnitude, &size_bits, 8);
        int64_t start = cells[size_bits >> 48];
        int64_t at_or_below = start + (limits[start] <= magnitude);
        /* A bucket starts with its lower edge, which is the larger limit of a negative one. */
        int64_t below = at_or_below - (limits[at_or_below - 1] == magnitude);
        /* n - below if negative, else n + 1 + at_or_below. */
        counts[n + 1 + at_or_below - (mask & (1 + at_or_below + below))]++;
    }
}

#undef REAL
#undef SUFFIX

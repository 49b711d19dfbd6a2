/* Counts numbers in buckets. All of them must be finite. */
#ifndef TRACKLIGHT_BUCKETS_H
#define TRACKLIGHT_BUCKETS_H

#include <stdint.h>
#include <string.h>

/* Buckets of one width from low to high, the last one closed. There are four rows of counts, to be
   added up: numbers that come one after the other often share a bucket, and would wait for it. */
#define TL_ROWS 4
#define TL_BLOCK 512

static void tl_count_uniform(const double *values, int64_t n, double low, double width,
                             int64_t buckets, int64_t *counts) {
    int32_t at[TL_BLOCK];
    double last = (double)(buckets - 1);
    for (int64_t start = 0; start < n; start += TL_BLOCK) {
        int64_t size = n - start < TL_BLOCK ? n - start : TL_BLOCK;
        for (int64_t i = 0; i < size; i++) {
            double bucket = (values[start + i] - low) / width;
            /* In this order, what is no number (the width may be 0) is in the last as well. */
            at[i] = (int32_t)(bucket < last ? bucket : last);
        }
        for (int64_t i = 0; i < size; i++) counts[(i % TL_ROWS) * buckets + at[i]]++;
    }
}

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

/* The buckets lie between these edges, half open: the limits with a minus sign, zero, the limits.
   counts[0] and the last are for what is outside, so there are 2 n + 2. Zero stands before the
   limits in the array and infinity after them, so that no end has to be looked for. */
static void tl_count_exponential(const double *values, int64_t size, const double *limits,
                                 int64_t n, const int16_t *cells, int64_t *counts) {
    for (int64_t i = 0; i < size; i++) {
        uint64_t bits;
        double magnitude;
        memcpy(&bits, values + i, 8);
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

#endif

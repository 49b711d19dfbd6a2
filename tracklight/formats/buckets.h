/* Sum values and count them in the buckets of a histogram. A template: include it once per type,
   with REAL defined as the type and SUFFIX as the suffix of the function names. The values that are
   counted must be finite. */

#include <stdint.h>
#include <string.h>

#ifndef TRACKLIGHT_BUCKETS_H
#define TRACKLIGHT_BUCKETS_H

/* Compile a second version for AVX2, which takes a third less time. The choice is made when the
   kernel is loaded. This needs the loader of glibc and does not work with AddressSanitizer, which is
   not initialized at that point. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__) && \
    !defined(__SANITIZE_ADDRESS__)
#define TL_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define TL_CLONES
#endif

#define TL_JOIN_(a, b) a##b
#define TL_JOIN(a, b) TL_JOIN_(a, b)

typedef struct {
    double low, high, sum, sum_squares;
} tl_totals;

/* Independent partial sums hide the latency of additions. Blocks stay in the L1 cache while several
   loops process them. */
#define TL_LANES 16

/* Consecutive values often fall into the same bucket. Four rows of counts, which the caller adds up,
   hide the latency of incrementing it. */
#define TL_ROWS 4
#define TL_BLOCK 512

/* A cell contains all doubles with the same sign, exponent and first four bits of the mantissa. If
   the edges grow by a factor of 1.1, each cell contains at most one. The table gives for each cell
   the number of edges at or below all of its values. */
#define TL_CELLS 0x10000
#define TL_FIRST_NEGATIVE 0x8000

static int64_t tl_count_below(const double *edges, int64_t n, int64_t below, uint64_t bits) {
    double number;
    memcpy(&number, &bits, 8);
    while (below < n && edges[below] <= number) below++;
    return below;
}

static void tl_fill_cells(const double *edges, int64_t n, int16_t *cells) {
    int64_t below = 0;
    /* The lowest value of a negative cell has all other bits set. */
    for (uint64_t cell = TL_CELLS; cell-- > TL_FIRST_NEGATIVE;)
        cells[cell] = (int16_t)(below = tl_count_below(edges, n, below, ((cell + 1) << 48) - 1));
    for (uint64_t cell = 0; cell < TL_FIRST_NEGATIVE; cell++)
        cells[cell] = (int16_t)(below = tl_count_below(edges, n, below, cell << 48));
}

#endif

/* Needs at least one value. NaN or infinity makes the sum of squares NaN or infinite. */
TL_CLONES static void TL_JOIN(tl_sum_up_, SUFFIX)(const REAL *values, int64_t n, tl_totals *totals) {
    double sums[TL_LANES] = {0}, squares[TL_LANES] = {0};
    REAL lows[TL_LANES], highs[TL_LANES];
    for (int k = 0; k < TL_LANES; k++) lows[k] = highs[k] = values[0];
    for (int64_t start = 0; start < n; start += TL_BLOCK) {
        const REAL *block = values + start;
        int64_t size = n - start < TL_BLOCK ? n - start : TL_BLOCK;
        int64_t whole = size - size % TL_LANES;
        /* Separate loops: one loop for all four needs more registers than there are. */
        for (int64_t i = 0; i < whole; i += TL_LANES)
            for (int k = 0; k < TL_LANES; k++) sums[k] += block[i + k];
        for (int64_t i = 0; i < whole; i += TL_LANES)
            for (int k = 0; k < TL_LANES; k++) squares[k] += (double)block[i + k] * block[i + k];
        for (int64_t i = 0; i < whole; i += TL_LANES)
            for (int k = 0; k < TL_LANES; k++)
                lows[k] = block[i + k] < lows[k] ? block[i + k] : lows[k];
        for (int64_t i = 0; i < whole; i += TL_LANES)
            for (int k = 0; k < TL_LANES; k++)
                highs[k] = block[i + k] > highs[k] ? block[i + k] : highs[k];
        for (int64_t i = whole; i < size; i++) {
            sums[0] += block[i];
            squares[0] += (double)block[i] * block[i];
            lows[0] = block[i] < lows[0] ? block[i] : lows[0];
            highs[0] = block[i] > highs[0] ? block[i] : highs[0];
        }
    }
    *totals = (tl_totals){lows[0], highs[0], 0, 0};
    for (int k = 0; k < TL_LANES; k++) {
        totals->low = lows[k] < totals->low ? lows[k] : totals->low;
        totals->high = highs[k] > totals->high ? highs[k] : totals->high;
        totals->sum += sums[k];
        totals->sum_squares += squares[k];
    }
}

/* Buckets of equal width from `low` on; the last one includes its upper edge. */
TL_CLONES static void TL_JOIN(tl_count_uniform_, SUFFIX)(const REAL *values, int64_t n, double low,
                                               double width, int64_t buckets, int64_t *counts) {
    int32_t at[TL_BLOCK];
    double last = (double)(buckets - 1);
    for (int64_t start = 0; start < n; start += TL_BLOCK) {
        int64_t size = n - start < TL_BLOCK ? n - start : TL_BLOCK;
        for (int64_t i = 0; i < size; i++) {
            double bucket = ((double)values[start + i] - low) / width;
            /* This comparison puts NaN (the width may be 0) into the last bucket. */
            at[i] = (int32_t)(bucket < last ? bucket : last);
        }
        int64_t whole = size - size % TL_ROWS;
        for (int64_t i = 0; i < whole; i += TL_ROWS)
            for (int64_t row = 0; row < TL_ROWS; row++) counts[row * buckets + at[i + row]]++;
        for (int64_t i = whole; i < size; i++) counts[at[i]]++;
    }
}

/* Half-open buckets between the edges, plus one at each end. The last edge must be infinite, so that
   no bound needs to be checked. There is no branch: signs are unpredictable, and a misprediction
   costs more than everything else. */
static void TL_JOIN(tl_count_exponential_, SUFFIX)(const REAL *values, int64_t size,
                                                   const double *edges, const int16_t *cells,
                                                   int64_t *counts) {
    for (int64_t i = 0; i < size; i++) {
        double value = values[i];
        uint64_t bits;
        memcpy(&bits, &value, 8);
        int64_t below = cells[bits >> 48];
        counts[below + (edges[below] <= value)]++;
    }
}

#undef REAL
#undef SUFFIX

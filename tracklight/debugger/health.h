/* One-pass statistics of a tensor.
 *
 * Sums are accumulated in vector registers and added up in double precision after each block. */
#ifndef TRACKLIGHT_HEALTH_H
#define TRACKLIGHT_HEALTH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#define TL_BLOCK 1024

typedef struct {
    int64_t nan, neg_inf, pos_inf, zeros, negatives, overflow, underflow;
    double min, max, sum, squares;
} tl_health;

static inline float tl_half_to_float(uint16_t bits) {
    uint32_t sign = (uint32_t)(bits & 0x8000) << 16, exponent = bits >> 10 & 31,
             mantissa = bits & 1023, out;
    float value;
    if (exponent == 31)
        out = sign | 0x7F800000u | mantissa << 13;
    else if (exponent)
        out = sign | (exponent + 112) << 23 | mantissa << 13;
    else {
        value = (float)mantissa * 5.9604644775390625e-8f; /* 2 ** -24 */
        return bits & 0x8000 ? -value : value;
    }
    memcpy(&value, &out, 4);
    return value;
}

static inline float tl_bfloat16_to_float(uint16_t bits) {
    uint32_t out = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &out, 4);
    return value;
}

/* Add a block that contains NaN or infinities element by element. */
static void tl_health_slow(const float *p, int n, float limit, float tiny, tl_health *h) {
    for (int i = 0; i < n; i++) {
        float v = p[i];
        if (isnan(v)) {
            h->nan++;
            continue;
        }
        if (isinf(v)) {
            if (v > 0) h->pos_inf++;
            else h->neg_inf++;
            h->overflow += limit > 0;
            continue;
        }
        if (v < h->min) h->min = v;
        if (v > h->max) h->max = v;
        h->sum += v;
        h->squares += (double)v * v;
        h->zeros += v == 0;
        h->negatives += v < 0;
        if (limit > 0) {
            h->overflow += fabsf(v) >= limit;
            h->underflow += v != 0 && fabsf(v) < tiny;
        }
    }
}

#if defined(__GNUC__)
/* Vector extensions of GCC and Clang: comparisons yield -1 for true in each element. */
typedef float tl_floats __attribute__((vector_size(16)));
typedef int32_t tl_ints __attribute__((vector_size(16)));
#define TL_VECTORS 4
#define TL_WIDTH 4
#define TL_LOAD(p, k) __builtin_memcpy(&v, (p) + (k) * TL_WIDTH, 16)
#define TL_SELECT(mask, a, b) \
    ((tl_floats)(((mask) & (tl_ints)(a)) | (~(mask) & (tl_ints)(b))))

static void tl_health_block(const float *p, int n, float limit, float tiny, tl_health *h) {
    tl_floats low[TL_VECTORS], high[TL_VECTORS], sum[TL_VECTORS], squares[TL_VECTORS], v;
    tl_ints zeros[TL_VECTORS] = {0}, negatives[TL_VECTORS] = {0}, large = {0}, small = {0};
    const tl_floats none = {0, 0, 0, 0};
    const tl_ints absolute = {0x7FFFFFFF, 0x7FFFFFFF, 0x7FFFFFFF, 0x7FFFFFFF};
    const int step = TL_VECTORS * TL_WIDTH, whole = n - n % step;
    for (int k = 0; k < TL_VECTORS; k++) {
        low[k] = none + INFINITY;
        high[k] = none - INFINITY;
        sum[k] = squares[k] = none;
    }
    for (int i = 0; i < whole; i += step) {
#pragma GCC unroll 4
        for (int k = 0; k < TL_VECTORS; k++) {
            TL_LOAD(p + i, k);
            low[k] = TL_SELECT(v < low[k], v, low[k]);
            high[k] = TL_SELECT(v > high[k], v, high[k]);
            sum[k] += v;
            squares[k] += v * v;
            zeros[k] -= v == none;
            negatives[k] -= v < none;
        }
    }
    float total = 0;
    for (int k = 0; k < TL_VECTORS; k++)
        for (int j = 0; j < TL_WIDTH; j++) total += squares[k][j];
    /* NaN and infinities make the sum of squares non-finite; so do large finite numbers. */
    if (!(total <= 3.4e38f)) {
        tl_health_slow(p, n, limit, tiny, h);
        return;
    }
    if (limit > 0)
        for (int i = 0; i < whole; i += TL_WIDTH) {
            TL_LOAD(p + i, 0);
            v = (tl_floats)((tl_ints)v & absolute);
            large -= v >= none + limit;
            small -= (v != none) & (v < none + tiny);
        }
    for (int j = 0; j < TL_WIDTH; j++) {
        for (int k = 0; k < TL_VECTORS; k++) {
            if (low[k][j] < h->min) h->min = low[k][j];
            if (high[k][j] > h->max) h->max = high[k][j];
            h->sum += sum[k][j];
            h->squares += squares[k][j];
            h->zeros += zeros[k][j];
            h->negatives += negatives[k][j];
        }
        h->overflow += large[j];
        h->underflow += small[j];
    }
    tl_health_slow(p + whole, n - whole, limit, tiny, h);
}
#else
#define tl_health_block tl_health_slow
#endif

static void tl_health_float64(const double *p, int64_t n, tl_health *h) {
    for (int64_t i = 0; i < n; i++) {
        double v = p[i];
        if (isnan(v)) h->nan++;
        else if (isinf(v)) {
            if (v > 0) h->pos_inf++;
            else h->neg_inf++;
        } else {
            if (v < h->min) h->min = v;
            if (v > h->max) h->max = v;
            h->sum += v;
            h->squares += v * v;
            h->zeros += v == 0;
            h->negatives += v < 0;
        }
    }
}

/* kind: 0 float32, 1 float64, 2 float16, 3 bfloat16. */
static void tl_health_of(const void *data, int64_t n, int kind, tl_health *h) {
    static const float limits[4] = {0, 0, 65504.0f, 3.3895313892515355e38f};
    static const float tinies[4] = {0, 0, 6.103515625e-05f, 1.1754943508222875e-38f};
    float block[TL_BLOCK];
    memset(h, 0, sizeof *h);
    h->min = INFINITY;
    h->max = -INFINITY;
    if (kind == 1) {
        tl_health_float64((const double *)data, n, h);
        return;
    }
    for (int64_t at = 0; at < n; at += TL_BLOCK) {
        int count = n - at < TL_BLOCK ? (int)(n - at) : TL_BLOCK;
        const float *p = (const float *)data + at;
        if (kind != 0) {
            const uint16_t *bits = (const uint16_t *)data + at;
            for (int i = 0; i < count; i++)
                block[i] = kind == 2 ? tl_half_to_float(bits[i]) : tl_bfloat16_to_float(bits[i]);
            p = block;
        }
        tl_health_block(p, count, limits[kind], tinies[kind], h);
    }
}

/* Count the channels of a tensor (outer, channels, inner) that are zero everywhere. */
static int64_t tl_dead_channels(
    const uint8_t *data, int64_t outer, int64_t channels, int64_t inner, int width
) {
    int64_t dead = 0, row = inner * width;
    for (int64_t c = 0; c < channels; c++) {
        int alive = 0;
        for (int64_t o = 0; o < outer && !alive; o++) {
            const uint8_t *p = data + (o * channels + c) * row;
            for (int64_t i = 0; i < row; i++) {
                /* The sign bit of -0.0 is in the last byte of an element. */
                uint8_t mask = (i + 1) % width ? 0xFF : 0x7F;
                if (p[i] & mask) {
                    alive = 1;
                    break;
                }
            }
        }
        dead += !alive;
    }
    return dead;
}

#endif

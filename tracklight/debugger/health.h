/* One-pass statistics of a tensor.
 *
 * Sums are accumulated in vector registers and added up in double precision after each block. */
#ifndef TRACKLIGHT_HEALTH_H
#define TRACKLIGHT_HEALTH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#define TL_BLOCK 4096

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
/* Vector extensions of GCC and Clang: comparisons yield -1 for true in each element. Vectors have
 * the size of a register; a compiler that must split them compares element by element. */
/* Two of each, so that the six accumulators fit 16 registers. */
#define TL_VECTORS 2
#define TL_PREFETCH 1024
#define TL_LOAD(p, k) __builtin_memcpy(&v, (p) + (k) * TL_WIDTH, sizeof v)
#define TL_SELECT(mask, a, b) \
    ((tl_floats_4)(((mask) & (tl_ints_4)(a)) | (~(mask) & (tl_ints_4)(b))))

typedef float tl_floats_4 __attribute__((vector_size(16)));
typedef int32_t tl_ints_4 __attribute__((vector_size(16)));
#define TL_TARGET
#define TL_BLOCK_NAME tl_health_block_generic
#define TL_WIDTH 4
#define TL_FLOATS tl_floats_4
#define TL_INTS tl_ints_4
#define TL_MIN(a, b) TL_SELECT((a) < (b), a, b)
#define TL_MAX(a, b) TL_SELECT((a) > (b), a, b)
#include "health_block.h"

#if defined(__x86_64__)
#include <immintrin.h>
typedef float tl_floats_8 __attribute__((vector_size(32)));
typedef int32_t tl_ints_8 __attribute__((vector_size(32)));
#define TL_TARGET __attribute__((target("avx2,fma")))
#define TL_BLOCK_NAME tl_health_block_avx2
#define TL_WIDTH 8
#define TL_FLOATS tl_floats_8
#define TL_INTS tl_ints_8
#define TL_MIN(a, b) ((tl_floats_8)_mm256_min_ps((__m256)(a), (__m256)(b)))
#define TL_MAX(a, b) ((tl_floats_8)_mm256_max_ps((__m256)(a), (__m256)(b)))
#include "health_block.h"
#endif

static void tl_health_block(const float *p, int n, float limit, float tiny, tl_health *h) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        tl_health_block_avx2(p, n, limit, tiny, h);
        return;
    }
#endif
    tl_health_block_generic(p, n, limit, tiny, h);
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

/* Add elements to the statistics, and copy those at multiples of stride.
 * kind: 0 float32, 1 float64, 2 float16, 3 bfloat16. */
static void tl_health_part(
    const void *data, int64_t first, int64_t end, int kind, int64_t stride, float *sample,
    tl_health *h
) {
    static const float limits[4] = {0, 0, 65504.0f, 3.3895313892515355e38f};
    static const float tinies[4] = {0, 0, 6.103515625e-05f, 1.1754943508222875e-38f};
    float block[TL_BLOCK];
    memset(h, 0, sizeof *h);
    h->min = INFINITY;
    h->max = -INFINITY;
    int64_t taken = (first + stride - 1) / stride, next = taken * stride;
    if (kind == 1) {
        tl_health_float64((const double *)data + first, end - first, h);
        for (; next < end; next += stride)
            sample[taken++] = (float)((const double *)data)[next];
        return;
    }
    for (int64_t at = first; at < end; at += TL_BLOCK) {
        int count = end - at < TL_BLOCK ? (int)(end - at) : TL_BLOCK;
        const float *p = (const float *)data + at;
        if (kind != 0) {
            const uint16_t *bits = (const uint16_t *)data + at;
            for (int i = 0; i < count; i++)
                block[i] = kind == 2 ? tl_half_to_float(bits[i]) : tl_bfloat16_to_float(bits[i]);
            p = block;
        }
        tl_health_block(p, count, limits[kind], tinies[kind], h);
        /* The block is in the cache now. */
        for (; next < at + count; next += stride) sample[taken++] = p[next - at];
    }
}

static void tl_health_merge(tl_health *h, const tl_health *part) {
    h->nan += part->nan;
    h->neg_inf += part->neg_inf;
    h->pos_inf += part->pos_inf;
    h->zeros += part->zeros;
    h->negatives += part->negatives;
    h->overflow += part->overflow;
    h->underflow += part->underflow;
    h->sum += part->sum;
    h->squares += part->squares;
    if (part->min < h->min) h->min = part->min;
    if (part->max > h->max) h->max = part->max;
}

/* `GOMP_parallel` and `omp_get_thread_num` of the OpenMP runtime that the framework has loaded: the
 * first calls a function in each of its threads, which are running already. */
typedef void (*tl_parallel)(void (*)(void *), void *, unsigned, unsigned);
typedef int (*tl_thread_number)(void);

#define TL_PARTS 16
/* Smaller arrays are computed faster than other threads start. */
#define TL_MIN_PART 65536

typedef struct {
    const void *data;
    int64_t size, part_size, stride;
    float *sample;
    int kind, parts, threads;
    tl_thread_number thread_number;
    char taken[TL_PARTS];
    tl_health results[TL_PARTS];
} tl_health_job;

static void tl_health_run_part(tl_health_job *job, int k) {
    int64_t first = k * job->part_size, end = first + job->part_size;
#if defined(__GNUC__)
    if (__atomic_exchange_n(&job->taken[k], 1, __ATOMIC_RELAXED)) return;
#endif
    if (end > job->size) end = job->size;
    tl_health_part(
        job->data, first, end, job->kind, job->stride, job->sample, &job->results[k]
    );
}

/* Each thread begins with the range that it has probably written, at the end, which is still in the
 * cache of its core; then it takes the parts that other threads have not begun. */
static void tl_health_run(void *argument) {
    tl_health_job *job = (tl_health_job *)argument;
    int number = job->thread_number ? job->thread_number() : 0;
    int range_end = (number + 1) * job->parts / job->threads;
    for (int i = 1; i <= job->parts; i++)
        tl_health_run_part(job, (range_end - i + job->parts) % job->parts);
}

/* Compute the statistics of an array, and copy every stride-th element to sample. The parts do not
 * depend on the number of threads, so that neither do the sums. parallel and thread_number may be
 * NULL. */
static void tl_health_of(
    const void *data, int64_t n, int kind, int64_t stride, float *sample, tl_parallel parallel,
    tl_thread_number thread_number, int threads, tl_health *h
) {
    tl_health_job job = {data, n, (n + TL_PARTS - 1) / TL_PARTS, stride, sample, kind};
    if (job.part_size < TL_MIN_PART) job.part_size = TL_MIN_PART;
    job.part_size = (job.part_size + TL_BLOCK - 1) / TL_BLOCK * TL_BLOCK;
    job.parts = (int)((n + job.part_size - 1) / job.part_size);
    job.threads = 1;
#if defined(__GNUC__)
    if (parallel && thread_number && threads > 1 && job.parts > 1) {
        job.threads = threads < job.parts ? threads : job.parts;
        job.thread_number = thread_number;
        parallel(tl_health_run, &job, job.threads, 0);
    } else
#endif
        tl_health_run(&job);
    memset(h, 0, sizeof *h);
    h->min = INFINITY;
    h->max = -INFINITY;
    for (int k = 0; k < job.parts; k++) tl_health_merge(h, &job.results[k]);
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

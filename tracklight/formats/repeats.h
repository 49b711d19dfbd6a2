/* Read records that differ from an earlier record of their series in wall time, step and value only.
 *
 * Training loops log the same tags again and again, so nearly all records of scalars consist of
 *
 *     09 <wall time: 8 bytes>  10 <step: varint>  <the rest: summary, tag and value>
 *
 * with the same rest except for the value, a float32 or float64 at the same place. An example is a
 * record that the parser has read. A record with the rest of an example is a point of its series:
 * comparing bytes replaces parsing. Both checksums are verified here as well. */
#ifndef TRACKLIGHT_REPEATS_H
#define TRACKLIGHT_REPEATS_H

#include "intern.h"
#include "wire.h"

enum { TL_PREFETCH_BYTES = 1024 };
enum { TL_STEP_AT = 10, TL_HEADER_BYTES = 12, TL_FRAME_BYTES = 16, TL_MIN_BEFORE_VALUE = 8 };

typedef struct {
    int32_t series, scalar_type;
    int64_t step;
    double wall;
    uint64_t bits;
} tl_point;

/* The latest record that shows how the values of a series are written. */
typedef struct {
    int64_t rest_at; /* in the file; it is of use while the current data contain it */
    int32_t rest_size;
    int32_t value_at; /* in the rest */
    int32_t value_size;
} tl_example;

typedef struct {
    tl_example *items; /* by series; those from `count` on are not set */
    int64_t count, capacity;
} tl_examples;

/* Consecutive bytes of a file. */
typedef struct {
    const uint8_t *data, *end;
    int64_t base; /* offset of `data` in the file */
} tl_window;

static void tl_examples_free(tl_examples *t) {
    free(t->items);
    memset(t, 0, sizeof *t);
}

static inline void tl_examples_cut(tl_examples *t, int64_t count) {
    if (t->count > count) t->count = count;
}

static int tl_examples_reserve(tl_examples *t, int64_t series) {
    if (series >= t->capacity) {
        int64_t capacity = 2 * series + 32;
        tl_example *items = (tl_example *)realloc(t->items, capacity * sizeof *items);
        if (items == NULL) return 0;
        t->items = items;
        t->capacity = capacity;
    }
    for (; t->count <= series; t->count++) t->items[t->count] = (tl_example){-1, 0, 0, 0};
    return 1;
}

/* Make an event of one scalar the example of its series, if it has the usual form. `value` are the
 * bytes of the number. Running out of memory is no error: there is no example then. */
static void tl_examples_set(tl_examples *t, int32_t series, const tl_window *window,
                            const uint8_t *payload, const uint8_t *end, const uint8_t *value,
                            int32_t value_size) {
    const uint8_t *rest = payload + TL_STEP_AT;
    uint64_t step, size;
    if (end - payload <= TL_STEP_AT || end - payload > INT32_MAX) return;
    if (payload[0] != 0x09 || payload[9] != 0x10 || !tl_varint(&rest, end, &step)) return;
    const uint8_t *summary = rest;
    if (rest == end || *summary++ != 0x2A) return;
    if (!tl_varint(&summary, end, &size) || size != (uint64_t)(end - summary)) return;
    if (value - rest < TL_MIN_BEFORE_VALUE || !tl_examples_reserve(t, series)) return;
    t->items[series] = (tl_example){window->base + (rest - window->data), (int32_t)(end - rest),
                                    (int32_t)(value - rest), value_size};
}

/* Compare at least eight bytes. */
static inline int tl_same_long(const uint8_t *p, const uint8_t *q, int64_t size) {
    for (int64_t i = 0; i < size - 8; i += 8)
        if (tl_load64(p + i) != tl_load64(q + i)) return 0;
    return tl_load64(p + size - 8) == tl_load64(q + size - 8);
}

/* Return where the rest begins if the event is like an example of its series, or NULL. */
static inline const uint8_t *tl_match(const tl_example *e, const tl_window *window,
                                      const uint8_t *payload, const uint8_t *end, uint64_t *step) {
    const uint8_t *rest = end - e->rest_size, *p = payload + TL_STEP_AT;
    if (rest <= p || rest > p + 10 || payload[0] != 0x09 || payload[9] != 0x10) return NULL;
    if (!tl_varint(&p, rest, step) || p != rest) return NULL;
    const uint8_t *known = window->data + (e->rest_at - window->base);
    if (!tl_same_long(rest, known, e->value_at)) return NULL;
    int32_t after = e->value_at + e->value_size;
    if (after < e->rest_size && memcmp(rest + after, known + after, e->rest_size - after) != 0)
        return NULL;
    return rest;
}

/* Return the series of the tag at the usual place, or -1. */
static int32_t tl_find_usual_tag(const tl_names *names, const uint8_t *payload,
                                 const uint8_t *end) {
    const uint8_t *p = payload + TL_STEP_AT;
    uint64_t number;
    for (int i = 0; i < 3; i++) { /* step, summary, value */
        if (i > 0 && (p == end || *p++ != (i == 1 ? 0x2A : 0x0A))) return -1;
        if (!tl_varint(&p, end, &number)) return -1;
    }
    if (p == end || *p++ != 0x0A || !tl_varint(&p, end, &number)) return -1;
    return number > (uint64_t)(end - p) ? -1 : tl_names_find(names, p, (int64_t)number);
}

/* The bytes of a file are read from memory that is not in the caches of the processor. */
#if defined(__GNUC__) || defined(__clang__)
#define TL_PREFETCH(p) __builtin_prefetch((const void *)((uintptr_t)(p) + TL_PREFETCH_BYTES))
#else
#define TL_PREFETCH(p) ((void)(p))
#endif

#if defined(TRACKLIGHT_CRC_X86) || defined(TRACKLIGHT_CRC_ARM)
TRACKLIGHT_TARGET_CRC static inline uint32_t tl_masked_hardware(const uint8_t *p, size_t n) {
    uint32_t c = ~tl_crc_hardware(0xFFFFFFFFu, p, n);
    return ((c >> 15) | (c << 17)) + 0xA282EAD8u;
}

/* Read records from `offset` on, up to the first one that has no example.
 *
 * Returns where it stopped. `*count` of `capacity` rows of `points` are in use. */
TRACKLIGHT_TARGET_CRC static int64_t tl_read_repeats(tl_names *names, tl_examples *examples,
                                                     const tl_window *window, int64_t offset,
                                                     tl_point *points, int64_t *count,
                                                     int64_t capacity) {
    const uint8_t *p = window->data + (offset - window->base), *end = window->end;
    uint64_t known_length = UINT64_MAX, step, raw;
    uint32_t known_crc = 0;
    int64_t n = *count;
    int32_t last = names->last;
    if (!tl_crc_has_hardware || last < 0) return offset;
    while (n < capacity && end - p > TL_FRAME_BYTES + TL_STEP_AT) {
        TL_PREFETCH(p);
        uint64_t length = tl_load64(p);
        if (length > (uint64_t)(end - p - TL_FRAME_BYTES) || length <= TL_STEP_AT) break;
        if (length != known_length || tl_load32(p + 8) != known_crc) {
            known_length = length;
            known_crc = tl_masked_hardware(p, 8);
            if (tl_load32(p + 8) != known_crc) break;
        }
        const uint8_t *payload = p + TL_HEADER_BYTES, *payload_end = payload + length;
        int32_t series = names->names[last].follower;
        const uint8_t *rest = NULL;
        if (series >= 0 && series < examples->count &&
            examples->items[series].rest_at >= window->base)
            rest = tl_match(&examples->items[series], window, payload, payload_end, &step);
        if (rest == NULL) { /* another tag than after the last one the last time */
            series = tl_find_usual_tag(names, payload, payload_end);
            if (series < 0 || series >= examples->count ||
                examples->items[series].rest_at < window->base)
                break;
            rest = tl_match(&examples->items[series], window, payload, payload_end, &step);
            if (rest == NULL) break;
        }
        if (tl_masked_hardware(payload, length) != tl_load32(payload_end)) break;
        tl_example *e = &examples->items[series];
        raw = e->value_size == 4 ? tl_bits(tl_float(tl_load32(rest + e->value_at)))
                                 : tl_load64(rest + e->value_at);
        points[n++] =
            (tl_point){series, 0, (int64_t)step, tl_double(tl_load64(payload + 1)), raw};
        e->rest_at = window->base + (rest - window->data);
        names->names[last].follower = series;
        names->names[series].points[0]++;
        last = series;
        p = payload_end + 4;
    }
    names->last = last;
    *count = n;
    return window->base + (p - window->data);
}
#else
static int64_t tl_read_repeats(tl_names *names, tl_examples *examples, const tl_window *window,
                               int64_t offset, tl_point *points, int64_t *count,
                               int64_t capacity) {
    return offset;
}
#endif

#endif

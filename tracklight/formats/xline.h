/* Decode the events of an XLine and their stats to columns.
 *
 * Format: https://github.com/openxla/xla/blob/main/third_party/tsl/tsl/profiler/protobuf/xplane.proto */
#ifndef TRACKLIGHT_XLINE_H
#define TRACKLIGHT_XLINE_H

#include "wire.h"

enum { TL_LINE_EVENTS = 4, TL_EVENT_STATS = 4 };

/* The result of decoding: the bytes are invalid, all is well, or there are more stats than rows. */
enum { TL_INVALID = 0, TL_DECODED = 1, TL_FULL = 2 };

typedef struct {
    int64_t *id, *offset, *duration, *first_stat; /* one row per event */
    int64_t *key, *field, *value, *size;          /* one row per stat */
    int64_t event_count, stat_count, stat_capacity;
} tl_xline;

/* Count the events of a line, and its other fields. */
static int tl_count_events(const uint8_t *p, const uint8_t *end, int64_t *events, int64_t *others) {
    tl_field f;
    int64_t event_count = 0, other_count = 0;
    while (p < end) {
        if (!tl_next(&p, end, &f)) return TL_INVALID;
        if (f.number == TL_LINE_EVENTS && f.type == 2)
            event_count++;
        else
            other_count++;
    }
    *events = event_count;
    *others = other_count;
    return TL_DECODED;
}

/* Count the stats of the events of a line, without looking at their content. */
static int tl_count_stats(const uint8_t *p, const uint8_t *end, int64_t *stats) {
    tl_field f, g;
    int64_t count = 0;
    while (p < end) {
        if (!tl_next(&p, end, &f)) return TL_INVALID;
        if (f.number != TL_LINE_EVENTS || f.type != 2) continue;
        for (const uint8_t *q = f.start; q < f.end;) {
            if (!tl_next(&q, f.end, &g)) return TL_INVALID;
            count += g.number == TL_EVENT_STATS && g.type == 2;
        }
    }
    *stats = count;
    return TL_DECODED;
}

static inline int tl_decode_stat(
    const uint8_t *base, const uint8_t *p, const uint8_t *end, int64_t row, tl_xline *out
) {
    tl_field f;
    int64_t key = 0, field = 0, value = 0, size = 0;
    while (p < end) {
        if (!tl_next(&p, end, &f)) return TL_INVALID;
        if (f.number == 1 && f.type == 0) {
            key = (int64_t)f.value;
        } else if (f.number > 1 && f.number < 9) {
            field = (int64_t)f.number;
            value = f.type == 2 ? f.start - base : (int64_t)f.value;
            size = f.type == 2 ? f.end - f.start : 0;
        }
    }
    out->key[row] = key;
    out->field[row] = field;
    out->value[row] = value;
    out->size[row] = size;
    return TL_DECODED;
}

/* Decode all events of a line. Offsets of texts are relative to `base`. */
static int tl_decode_events(
    const uint8_t *base, const uint8_t *p, const uint8_t *end, tl_xline *out
) {
    tl_field f, g;
    int64_t event = 0, stat = 0;
    while (p < end) {
        if (!tl_next(&p, end, &f)) return TL_INVALID;
        if (f.number != TL_LINE_EVENTS || f.type != 2) continue;
        uint64_t id = 0, offset = 0, duration = 0;
        out->first_stat[event] = stat;
        for (const uint8_t *q = f.start; q < f.end;) {
            if (!tl_next(&q, f.end, &g)) return TL_INVALID;
            if (g.number == TL_EVENT_STATS && g.type == 2) {
                if (stat == out->stat_capacity) return TL_FULL;
                if (!tl_decode_stat(base, g.start, g.end, stat, out)) return TL_INVALID;
                stat++;
            } else if (g.type == 0) {
                if (g.number == 1) id = g.value;
                if (g.number == 2) offset = g.value;
                if (g.number == 3) duration = g.value;
            }
        }
        out->id[event] = (int64_t)id;
        out->offset[event] = (int64_t)offset;
        out->duration[event] = (int64_t)duration;
        event++;
    }
    out->event_count = event;
    out->stat_count = stat;
    return TL_DECODED;
}

#endif

/* Parse the protobuf wire format and scalar tensors.
 *
 * Functions never read beyond `end`. They return 0 if the bytes are invalid. */
#ifndef TRACKLIGHT_WIRE_H
#define TRACKLIGHT_WIRE_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "crc32c.h"

typedef struct {
    uint64_t number;      /* field number */
    uint32_t type;        /* wire type: 0 varint, 1 fixed64, 2 length-delimited, 5 fixed32 */
    uint64_t value;       /* of types 0, 1 and 5 */
    const uint8_t *start; /* of type 2 */
    const uint8_t *end;
} tl_field;

static inline int tl_varint(const uint8_t **at, const uint8_t *end, uint64_t *out) {
    const uint8_t *p = *at;
    if (p < end && *p < 0x80) { /* the common case */
        *out = *p;
        *at = p + 1;
        return 1;
    }
    uint64_t value = 0;
    for (int shift = 0; shift < 70 && p < end; shift += 7) {
        uint8_t byte = *p++;
        value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            *out = value;
            *at = p;
            return 1;
        }
    }
    return 0;
}

/* Parse the field at *at and advance *at to the next one. */
static inline int tl_next(const uint8_t **at, const uint8_t *end, tl_field *f) {
    uint64_t key, length;
    if (!tl_varint(at, end, &key)) return 0;
    f->number = key >> 3;
    f->type = (uint32_t)(key & 7);
    if (f->number == 0) return 0;
    switch (f->type) {
        case 0:
            return tl_varint(at, end, &f->value);
        case 1:
            if (end - *at < 8) return 0;
            f->value = tl_load64(*at);
            *at += 8;
            return 1;
        case 2:
            if (!tl_varint(at, end, &length) || length > (uint64_t)(end - *at)) return 0;
            f->start = *at;
            f->end = *at + length;
            *at = f->end;
            return 1;
        case 5:
            if (end - *at < 4) return 0;
            f->value = tl_load32(*at);
            *at += 4;
            return 1;
        default:
            return 0;
    }
}

static inline double tl_double(uint64_t bits) {
    double value;
    memcpy(&value, &bits, 8);
    return value;
}

static inline uint64_t tl_bits(double value) {
    uint64_t bits;
    memcpy(&bits, &value, 8);
    return bits;
}

static inline double tl_float(uint32_t bits) {
    float value;
    memcpy(&value, &bits, 4);
    return (double)value;
}

static double tl_half(uint32_t bits) {
    int exponent = (int)(bits >> 10 & 31), mantissa = (int)(bits & 1023);
    double size;
    if (exponent == 31)
        size = mantissa ? NAN : INFINITY;
    else if (exponent == 0)
        size = ldexp(mantissa, -24);
    else
        size = ldexp(mantissa + 1024, exponent - 25);
    return bits & 0x8000 ? -size : size;
}

static double tl_float8_e4m3fn(uint32_t bits) {
    int exponent = (int)(bits >> 3 & 15), mantissa = (int)(bits & 7);
    double size;
    if (exponent == 15 && mantissa == 7)
        size = NAN;
    else if (exponent == 0)
        size = ldexp(mantissa, -9);
    else
        size = ldexp(mantissa + 8, exponent - 10);
    return bits & 0x80 ? -size : size;
}

/* How a dtype is stored: the bytes per element of tensor_content, and the repeated field that may
 * contain the elements instead. */
enum { TL_REAL = 1, TL_SIGNED = 2, TL_UNSIGNED = 3 };

typedef struct {
    uint8_t family, width, field;
} tl_dtype;

static inline tl_dtype tl_dtype_of(uint64_t dtype) {
    switch (dtype) {
        case 1: return (tl_dtype){TL_REAL, 4, 5};       /* float32 */
        case 2: return (tl_dtype){TL_REAL, 8, 6};       /* float64 */
        case 3: return (tl_dtype){TL_SIGNED, 4, 7};     /* int32 */
        case 4: return (tl_dtype){TL_UNSIGNED, 1, 7};   /* uint8 */
        case 5: return (tl_dtype){TL_SIGNED, 2, 7};     /* int16 */
        case 6: return (tl_dtype){TL_SIGNED, 1, 7};     /* int8 */
        case 9: return (tl_dtype){TL_SIGNED, 8, 10};    /* int64 */
        case 10: return (tl_dtype){TL_UNSIGNED, 1, 11}; /* bool */
        case 14: return (tl_dtype){TL_REAL, 2, 13};     /* bfloat16 */
        case 17: return (tl_dtype){TL_UNSIGNED, 2, 7};  /* uint16 */
        case 19: return (tl_dtype){TL_REAL, 2, 13};     /* float16 */
        case 22: return (tl_dtype){TL_UNSIGNED, 4, 16}; /* uint32 */
        case 23: return (tl_dtype){TL_UNSIGNED, 8, 17}; /* uint64 */
        case 24: return (tl_dtype){TL_REAL, 1, 18};     /* float8_e5m2 */
        case 25: return (tl_dtype){TL_REAL, 1, 18};     /* float8_e4m3fn */
        default: return (tl_dtype){0, 0, 0};
    }
}

/* Convert the raw bits of one element to those of a double or a 64-bit integer. */
static inline uint64_t tl_widen(uint64_t dtype, tl_dtype kind, uint64_t raw) {
    switch (dtype) {
        case 1: return tl_bits(tl_float((uint32_t)raw));
        case 2: return raw;
        case 14: return tl_bits(tl_float((uint32_t)(raw & 0xFFFF) << 16));
        case 19: return tl_bits(tl_half((uint32_t)(raw & 0xFFFF)));
        case 24: return tl_bits(tl_half((uint32_t)(raw & 0xFF) << 8));
        case 25: return tl_bits(tl_float8_e4m3fn((uint32_t)(raw & 0xFF)));
        case 10: return raw != 0;
        default: break;
    }
    int shift = 64 - 8 * kind.width;
    if (kind.family == TL_SIGNED) return (uint64_t)((int64_t)(raw << shift) >> shift);
    return raw << shift >> shift;
}

/* Return the raw bits of the first element of a repeated field, packed or not. */
static inline int tl_first_of(const tl_field *f, int width, uint64_t *raw) {
    if (f->type != 2) {
        *raw = f->value;
        return 1;
    }
    const uint8_t *p = f->start;
    if (width == 0) return tl_varint(&p, f->end, raw);
    if ((f->end - p) % width != 0) return 0;
    *raw = width == 8 ? tl_load64(p) : tl_load32(p);
    return 1;
}

static inline uint64_t tl_little_endian(const uint8_t *p, int width) {
    uint64_t value = 0;
    for (int i = 0; i < width; i++) value |= (uint64_t)p[i] << (8 * i);
    return value;
}

/* Count the dimensions of a TensorShapeProto; clear *one if one of them is not 1. */
static int tl_shape(const uint8_t *p, const uint8_t *end, int *rank, int *one) {
    tl_field f, g;
    while (p < end) {
        if (!tl_next(&p, end, &f)) return 0;
        if (f.number == 3 && f.type == 0 && f.value) *one = 0; /* unknown_rank */
        if (f.number != 2 || f.type != 2) continue;
        uint64_t size = 0;
        for (const uint8_t *q = f.start; q < f.end;) {
            if (!tl_next(&q, f.end, &g)) return 0;
            if (g.number == 1 && g.type == 0) size = g.value;
        }
        *rank += 1;
        if (size != 1) *one = 0;
    }
    return 1;
}

/* The bytes of a float32 or float64 in a message; of size 0 if a number has another form. */
typedef struct {
    const uint8_t *start;
    int32_t size;
} tl_number;

/* Read a scalar from a TensorProto. Returns 1 if it contains one number of shape [] or [1], 0 if
 * not, and -1 if it is invalid. *family says how to interpret *bits. */
static int tl_tensor_scalar(const uint8_t *p, const uint8_t *end, int *family, uint64_t *bits,
                            tl_number *number) {
    tl_field f;
    uint64_t dtype = 0, typed[19], raw;
    uint32_t has = 0;
    int rank = 0, one = 1;
    const uint8_t *content = NULL, *content_end = NULL, *first[2] = {NULL, NULL};
    while (p < end) {
        if (!tl_next(&p, end, &f)) return -1;
        if (f.number == 1 && f.type == 0) dtype = f.value;
        else if (f.number == 2 && f.type == 2) {
            if (!tl_shape(f.start, f.end, &rank, &one)) return -1;
        } else if (f.number == 4 && f.type == 2) {
            content = f.start;
            content_end = f.end;
        } else if (f.number == 18 && f.type == 2) { /* float8_val: a bytes field, the last one wins */
            typed[18] = f.start < f.end ? f.start[0] : 0;
            has |= 1u << 18;
        } else if (f.number >= 5 && f.number <= 17 && !(has >> f.number & 1)) {
            int width = f.number == 5 ? 4 : f.number == 6 ? 8 : 0;
            int plain = f.number == 5 ? 5 : f.number == 6 ? 1 : 0;
            if (f.type != 2 && (int)f.type != plain) continue;
            if (f.type == 2 && f.start == f.end) continue;
            if (f.number == 8 || f.number == 9 || f.number == 12 || f.number == 14 ||
                f.number == 15)
                continue; /* strings, complex numbers, handles */
            if (!tl_first_of(&f, width, &raw)) return -1;
            typed[f.number] = raw;
            has |= 1u << f.number;
            if (f.number == 5 || f.number == 6)
                first[f.number - 5] = f.type == 2 ? f.start : p - width;
        }
    }
    tl_dtype kind = tl_dtype_of(dtype);
    if (kind.family == 0 || rank > 1 || !one) return 0;
    number->size = 0;
    if (content != NULL && content < content_end) {
        if (content_end - content != kind.width) return 0;
        raw = tl_little_endian(content, kind.width);
        if (dtype <= 2) *number = (tl_number){content, kind.width};
    } else if (has >> kind.field & 1) {
        raw = typed[kind.field];
        if (dtype <= 2) *number = (tl_number){first[dtype - 1], kind.width};
    } else
        raw = 0;
    *family = kind.family;
    *bits = tl_widen(dtype, kind, raw);
    return 1;
}

#endif

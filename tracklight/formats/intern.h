/* A hash table that assigns consecutive ids to byte strings. */
#ifndef TRACKLIGHT_INTERN_H
#define TRACKLIGHT_INTERN_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "crc32c.h"

typedef struct {
    int64_t start; /* in the arena */
    int64_t size;
    uint32_t hash;
    int32_t follower;  /* the id that was looked up after this one the last time */
    int32_t content;   /* the Content of its first value */
    int32_t described; /* 1: metadata was reported, 2: metadata that names a plugin */
    int64_t points[3]; /* of the current batch: floats, signed and unsigned integers */
} tl_name;

typedef struct {
    tl_name *names;
    int64_t count, capacity;
    uint8_t *arena;
    int64_t arena_size, arena_capacity;
    int32_t *slots; /* open addressing; -1 is free */
    int64_t slot_count;
    int32_t last;
} tl_names;

static void tl_names_free(tl_names *t) {
    free(t->names);
    free(t->arena);
    free(t->slots);
    memset(t, 0, sizeof *t);
}

static void tl_names_place(tl_names *t, int32_t id) {
    int64_t mask = t->slot_count - 1, at = t->names[id].hash & mask;
    while (t->slots[at] >= 0) at = (at + 1) & mask;
    t->slots[at] = id;
}

/* Rebuild the slots. */
static int tl_names_rehash(tl_names *t, int64_t slot_count) {
    int32_t *slots = (int32_t *)realloc(t->slots, slot_count * sizeof *slots);
    if (slots == NULL) return 0;
    t->slots = slots;
    t->slot_count = slot_count;
    memset(slots, 0xFF, slot_count * sizeof *slots);
    for (int64_t i = 0; i < t->count; i++) tl_names_place(t, (int32_t)i);
    return 1;
}

static int tl_names_reserve(tl_names *t, int64_t size) {
    if (t->count == t->capacity) {
        int64_t capacity = t->capacity ? 2 * t->capacity : 32;
        tl_name *names = (tl_name *)realloc(t->names, capacity * sizeof *names);
        if (names == NULL) return 0;
        t->names = names;
        t->capacity = capacity;
    }
    if (t->arena_size + size >= t->arena_capacity) { /* `>=` allocates for an empty name too */
        int64_t capacity = 2 * t->arena_capacity + size + 256;
        uint8_t *arena = (uint8_t *)realloc(t->arena, capacity);
        if (arena == NULL) return 0;
        t->arena = arena;
        t->arena_capacity = capacity;
    }
    if (2 * (t->count + 1) > t->slot_count)
        return tl_names_rehash(t, t->slot_count ? 2 * t->slot_count : 64);
    return 1;
}

static inline int tl_names_equal(const tl_names *t, int32_t id, const uint8_t *p, int64_t size) {
    const tl_name *n = &t->names[id];
    return n->size == size && memcmp(t->arena + n->start, p, size) == 0;
}

static int32_t tl_names_find_hashed(const tl_names *t, const uint8_t *p, int64_t size,
                                    uint32_t hash) {
    if (t->slot_count) {
        int64_t mask = t->slot_count - 1;
        for (int64_t at = hash & mask; t->slots[at] >= 0; at = (at + 1) & mask) {
            int32_t id = t->slots[at];
            if (t->names[id].hash == hash && tl_names_equal(t, id, p, size)) return id;
        }
    }
    return -1;
}

/* Return the id of a name, or -1. */
static inline int32_t tl_names_find(const tl_names *t, const uint8_t *p, int64_t size) {
    return tl_names_find_hashed(t, p, size, tl_crc32c(p, size));
}

static int32_t tl_names_search(tl_names *t, const uint8_t *p, int64_t size, int32_t content) {
    uint32_t hash = tl_crc32c(p, size);
    int32_t known = tl_names_find_hashed(t, p, size, hash);
    if (known >= 0) return known;
    if (t->count >= INT32_MAX || !tl_names_reserve(t, size)) return -1;
    int32_t id = (int32_t)t->count;
    t->names[id] = (tl_name){t->arena_size, size, hash, -1, content, 0, {0, 0, 0}};
    memcpy(t->arena + t->arena_size, p, size);
    t->arena_size += size;
    t->count++;
    tl_names_place(t, id);
    return id;
}

/* Return the id of a name, adding it if it is new; -1 if out of memory. Training loops log their
 * tags in the same order, so the name that followed the last time is tried before hashing. */
static inline int32_t tl_names_id(tl_names *t, const uint8_t *p, int64_t size, int32_t content) {
    int32_t last = t->last, id;
    if (last >= 0 && last < t->count) {
        id = t->names[last].follower;
        if (id >= 0 && id < t->count && tl_names_equal(t, id, p, size)) {
            t->last = id;
            return id;
        }
    }
    id = tl_names_search(t, p, size, content);
    if (id >= 0 && last >= 0 && last < t->count) t->names[last].follower = id;
    t->last = id;
    return id;
}

/* Remove the names with ids of `count` and above. */
static void tl_names_cut(tl_names *t, int64_t count) {
    if (t->count == count) return;
    t->arena_size = t->names[count].start;
    t->count = count;
    t->last = -1;
    tl_names_rehash(t, t->slot_count);
}

#endif

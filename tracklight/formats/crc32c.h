/* CRC-32C (Castagnoli) with the CPU instruction if available, otherwise slicing-by-8. */
#ifndef TRACKLIGHT_CRC32C_H
#define TRACKLIGHT_CRC32C_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define TRACKLIGHT_CRC_X86 1
#define TRACKLIGHT_TARGET_CRC __attribute__((target("sse4.2")))
#include <nmmintrin.h>
#elif defined(_MSC_VER) && defined(_M_X64)
#define TRACKLIGHT_CRC_X86 1
#define TRACKLIGHT_TARGET_CRC
#include <intrin.h>
#include <nmmintrin.h>
#elif defined(__aarch64__) && defined(__ARM_FEATURE_CRC32)
#define TRACKLIGHT_CRC_ARM 1
#define TRACKLIGHT_TARGET_CRC
#include <arm_acle.h>
#elif defined(__aarch64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__)
/* The instruction is optional in ARMv8.0, so the compiler does not assume it. */
#define TRACKLIGHT_CRC_ARM 1
#define TRACKLIGHT_CRC_ARM_DETECT 1
#define TRACKLIGHT_TARGET_CRC __attribute__((target("+crc")))
#include <arm_acle.h>
#include <sys/auxv.h>
#ifndef HWCAP_CRC32
#define HWCAP_CRC32 (1 << 7)
#endif
#endif

static uint32_t tl_crc_table[8][256];
static int tl_crc_has_hardware = 0;

static void tl_crc_init(void) {
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int k = 0; k < 8; k++) c = (c >> 1) ^ (0x82F63B78u & (0u - (c & 1u)));
        tl_crc_table[0][i] = c;
    }
    for (uint32_t i = 0; i < 256; i++)
        for (int t = 1; t < 8; t++) {
            uint32_t before = tl_crc_table[t - 1][i];
            tl_crc_table[t][i] = (before >> 8) ^ tl_crc_table[0][before & 255u];
        }
#if defined(TRACKLIGHT_CRC_X86) && defined(_MSC_VER)
    int info[4];
    __cpuid(info, 1);
    tl_crc_has_hardware = (info[2] >> 20) & 1;
#elif defined(TRACKLIGHT_CRC_X86)
    __builtin_cpu_init();
    tl_crc_has_hardware = __builtin_cpu_supports("sse4.2") ? 1 : 0;
#elif defined(TRACKLIGHT_CRC_ARM_DETECT)
    tl_crc_has_hardware = (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0;
#elif defined(TRACKLIGHT_CRC_ARM)
    tl_crc_has_hardware = 1;
#endif
}

static uint32_t tl_crc_software(uint32_t c, const uint8_t *p, size_t n) {
    for (; n >= 8; p += 8, n -= 8) {
        uint32_t low = c ^ ((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
                            (uint32_t)p[3] << 24);
        c = tl_crc_table[7][low & 255u] ^ tl_crc_table[6][(low >> 8) & 255u] ^
            tl_crc_table[5][(low >> 16) & 255u] ^ tl_crc_table[4][low >> 24] ^
            tl_crc_table[3][p[4]] ^ tl_crc_table[2][p[5]] ^ tl_crc_table[1][p[6]] ^
            tl_crc_table[0][p[7]];
    }
    for (; n > 0; p++, n--) c = (c >> 8) ^ tl_crc_table[0][(c ^ *p) & 255u];
    return c;
}

#if defined(TRACKLIGHT_CRC_X86)
TRACKLIGHT_TARGET_CRC static uint32_t tl_crc_hardware(uint32_t crc, const uint8_t *p, size_t n) {
    uint64_t c = crc, word;
    for (; n >= 8; p += 8, n -= 8) {
        memcpy(&word, p, 8);
        c = _mm_crc32_u64(c, word);
    }
    uint32_t half;
    uint16_t quarter;
    if (n & 4) {
        memcpy(&half, p, 4);
        c = _mm_crc32_u32((uint32_t)c, half);
        p += 4;
    }
    if (n & 2) {
        memcpy(&quarter, p, 2);
        c = _mm_crc32_u16((uint32_t)c, quarter);
        p += 2;
    }
    if (n & 1) c = _mm_crc32_u8((uint32_t)c, *p);
    return (uint32_t)c;
}
#elif defined(TRACKLIGHT_CRC_ARM)
TRACKLIGHT_TARGET_CRC static uint32_t tl_crc_hardware(uint32_t c, const uint8_t *p, size_t n) {
    uint64_t word;
    for (; n >= 8; p += 8, n -= 8) {
        memcpy(&word, p, 8);
        c = __crc32cd(c, word);
    }
    uint32_t half;
    uint16_t quarter;
    if (n & 4) {
        memcpy(&half, p, 4);
        c = __crc32cw(c, half);
        p += 4;
    }
    if (n & 2) {
        memcpy(&quarter, p, 2);
        c = __crc32ch(c, quarter);
        p += 2;
    }
    if (n & 1) c = __crc32cb(c, *p);
    return c;
}
#else
#define tl_crc_hardware tl_crc_software
#endif

/* Extend a checksum by more bytes; the checksum of no bytes is 0. */
static inline uint32_t tl_crc32c_from(uint32_t crc, const uint8_t *p, size_t n) {
    uint32_t c = ~crc;
    return ~(tl_crc_has_hardware ? tl_crc_hardware(c, p, n) : tl_crc_software(c, p, n));
}

static inline uint32_t tl_crc32c(const uint8_t *p, size_t n) { return tl_crc32c_from(0, p, n); }

/* Records store masked checksums, because the CRC of data that contains its CRC is degenerate. */
static inline uint32_t tl_masked_crc32c(const uint8_t *p, size_t n) {
    uint32_t c = tl_crc32c(p, n);
    return ((c >> 15) | (c << 17)) + 0xA282EAD8u;
}

static inline uint32_t tl_load32(const uint8_t *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t tl_load64(const uint8_t *p) {
    return (uint64_t)tl_load32(p) | (uint64_t)tl_load32(p + 4) << 32;
}

#endif

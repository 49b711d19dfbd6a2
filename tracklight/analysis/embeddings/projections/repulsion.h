/* The repulsion of a point from random ones, which UMAP samples.

   The loops over samples have no branches and do not depend on each other, so that compilers use
   vector instructions. `powf` takes one number at a time and most of the time of a layout; an
   accuracy of 1e-6 is enough for the gradient of random samples. */

#ifndef TRACKLIGHT_REPULSION_H
#define TRACKLIGHT_REPULSION_H

#include <stdint.h>
#include <string.h>

#define MAX_SAMPLES 16

/* Return x to the power of b, for a positive x that is not subnormal: polynomials for the binary
   logarithm of the mantissa, and for two to the power of the fraction of the result. */
static inline float tl_power(float x, float b) {
    int32_t bits, whole;
    float m, y, f;
    memcpy(&bits, &x, 4);
    whole = (bits & 0x7fffff) | 0x3f800000;
    memcpy(&m, &whole, 4);
    m -= 1.0f;
    y = 3.1969783e-07f + m * (1.44265211f + m * (-0.720386612f + m * (0.472499525f
        + m * (-0.323115935f + m * (0.190420831f + m * (-0.076848726f + m * 0.0147787208f))))));
    y = b * (y + (float)((bits >> 23) - 127));
    y = y < -126.0f ? -126.0f : (y > 126.0f ? 126.0f : y);
    y += 127.0f;
    whole = (int32_t)y;
    f = y - (float)whole;
    f = 0.9999999f + f * (0.69315462f + f * (0.24014077f + f * (0.05586328f
        + f * (0.00894621f + f * 0.00189511f))));
    whole <<= 23;
    memcpy(&m, &whole, 4);
    return f * m;
}

/* Add the clipped forces by which some points repel a position to `moved`. */
static void tl_repel(const double *layout, int dimensions, const int32_t *points, int count,
                     const double *position, float a, float b, double *moved) {
    float difference[3][MAX_SAMPLES], force[MAX_SAMPLES];
    int i, axis;
    memset(force, 0, sizeof force);
    for (axis = 0; axis < dimensions; axis++) {
        for (i = 0; i < count; i++)
            difference[axis][i] =
                (float)(position[axis] - layout[(int64_t)points[i] * dimensions + axis]);
        for (i = 0; i < count; i++)
            force[i] += difference[axis][i] * difference[axis][i];
    }
    for (i = 0; i < count; i++) {
        /* The force of a point at the same position has no direction, so it does not matter. */
        float square = force[i] > 1e-30f ? force[i] : 1e-30f;
        force[i] = 2.0f * b / ((0.001f + square) * (1.0f + a * tl_power(square, b)));
    }
    for (axis = 0; axis < dimensions; axis++) {
        float total = 0.0f;
        for (i = 0; i < count; i++) {
            float step = force[i] * difference[axis][i];
            total += step > 4.0f ? 4.0f : (step < -4.0f ? -4.0f : step);
        }
        moved[axis] += total;
    }
}

#endif

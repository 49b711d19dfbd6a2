/* Statistics of a block in vectors, included once for each instruction set: a function TL_BLOCK_NAME
 * with the attributes TL_TARGET, on vectors TL_FLOATS and TL_INTS of TL_WIDTH elements. */
TL_TARGET static void TL_BLOCK_NAME(
    const float *p, int n, float limit, float tiny, tl_health *h
) {
    const TL_FLOATS none = {0};
    const TL_INTS absolute = (TL_INTS){0} + 0x7FFFFFFF;
    const int step = TL_VECTORS * TL_WIDTH, whole = n - n % step;
    TL_FLOATS low[TL_VECTORS], high[TL_VECTORS], sum[TL_VECTORS], squares[TL_VECTORS], v;
    TL_INTS zeros[TL_VECTORS], negatives[TL_VECTORS], large = {0}, small = {0};
    for (int k = 0; k < TL_VECTORS; k++) {
        low[k] = none + INFINITY;
        high[k] = none - INFINITY;
        sum[k] = squares[k] = none;
        zeros[k] = negatives[k] = (TL_INTS){0};
    }
    for (int i = 0; i < whole; i += step) {
        /* Hardware does not prefetch across pages. */
        __builtin_prefetch(p + i + TL_PREFETCH);
#pragma GCC unroll 2
        for (int k = 0; k < TL_VECTORS; k++) {
            TL_LOAD(p + i, k);
            squares[k] += v * v;
            sum[k] += v;
            low[k] = TL_MIN(v, low[k]);
            high[k] = TL_MAX(v, high[k]);
            zeros[k] -= v == none;
            negatives[k] -= v < none;
        }
    }
    for (int k = 1; k < TL_VECTORS; k++) {
        squares[0] += squares[k];
        sum[0] += sum[k];
        low[0] = TL_MIN(low[k], low[0]);
        high[0] = TL_MAX(high[k], high[0]);
        zeros[0] += zeros[k];
        negatives[0] += negatives[k];
    }
    float total = 0;
    for (int j = 0; j < TL_WIDTH; j++) total += squares[0][j];
    /* NaN and infinities make the sum of squares non-finite; so do large finite numbers. */
    if (!(total <= 3.4e38f)) {
        tl_health_slow(p, n, limit, tiny, h);
        return;
    }
    if (limit > 0)
        for (int i = 0; i < whole; i += TL_WIDTH) {
            TL_LOAD(p + i, 0);
            v = (TL_FLOATS)((TL_INTS)v & absolute);
            large -= v >= none + limit;
            small -= (v != none) & (v < none + tiny);
        }
    for (int j = 0; j < TL_WIDTH; j++) {
        if (low[0][j] < h->min) h->min = low[0][j];
        if (high[0][j] > h->max) h->max = high[0][j];
        h->sum += sum[0][j];
        h->squares += squares[0][j];
        h->zeros += zeros[0][j];
        h->negatives += negatives[0][j];
        h->overflow += large[j];
        h->underflow += small[j];
    }
    tl_health_slow(p + whole, n - whole, limit, tiny, h);
}

#undef TL_TARGET
#undef TL_BLOCK_NAME
#undef TL_WIDTH
#undef TL_FLOATS
#undef TL_INTS
#undef TL_MIN
#undef TL_MAX

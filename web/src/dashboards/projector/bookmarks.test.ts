import { describe, expect, it, vi } from 'vitest';

import {
  applyTensorBoardBookmark,
  captureSettings,
  restoreSettings,
  toOrbit,
} from './bookmarks.svelte';
import { createProjectorParams } from './projector-params';

describe('the camera of a TensorBoard bookmark', () => {
  it('keeps its direction and distance', () => {
    const start = { orthographic: false, position: [0.45, 0.9, 1.6], target: [0, 0, 0], zoom: 1 };
    const orbit = toOrbit(start as never);
    expect(orbit.zoom).toBeCloseTo(1);
    expect(orbit.yaw).toBeCloseTo(Math.atan2(0.45, 1.6));
    expect(orbit.pitch).toBeCloseTo(Math.asin(0.9 / Math.hypot(0.45, 0.9, 1.6)));
    const close = { ...start, position: [0.225, 0.45, 0.8] };
    expect(toOrbit(close as never)).toMatchObject({ yaw: orbit.yaw, zoom: 2 * orbit.zoom });
  });

  it('keeps its target and zoom in 2D', () => {
    const flat = { orthographic: true, position: [0.5, 0, 4], target: [0.5, 0, 0], zoom: 3 };
    expect(toOrbit(flat as never)).toEqual({ yaw: 0, pitch: 0, zoom: 3, target: [0.5, 0, 0] });
  });

  it('is finite even if its position is its target', () => {
    const odd = { orthographic: false, position: [1, 1, 1], target: [1, 1, 1], zoom: 1 };
    expect(
      Object.values(toOrbit(odd as never))
        .flat()
        .every(Number.isFinite),
    ).toBe(true);
  });
});

/** Params that keep their values in memory. */
function createParams() {
  const param = <Value>(_name: string, _codec: unknown, fallback: Value) => {
    const stored = { value: fallback, set: (value: Value) => void (stored.value = value) };
    return stored;
  };
  vi.stubGlobal('innerWidth', 1440);
  return createProjectorParams({ url: { param }, preferences: { param } } as never);
}

describe('the projection of a TensorBoard bookmark', () => {
  it('keeps the parameters that are 0 because nothing was computed', () => {
    const bookmark = {
      ...{ selectedProjection: 'pca', pcaComponentDimensions: [0, 1], selectedLabelOption: null },
      ...{ tSNEPerplexity: 0, umapNeighbors: 0, umapMinDist: null, cameraDef: null },
      ...{ selectedColorOptionName: null, forceCategoricalColoring: false },
    };
    const params = createParams();
    const [perplexity, neighbors] = [params.perplexity.value, params.neighbors.value];
    applyTensorBoardBookmark(bookmark as never, params);
    expect([params.perplexity.value, params.neighbors.value]).toEqual([perplexity, neighbors]);
    applyTensorBoardBookmark({ ...bookmark, tSNEPerplexity: 12 } as never, params);
    expect(params.perplexity.value).toBe(12);
  });
});

describe('the settings of a saved view', () => {
  it('are stored by the names of URL parameters', () => {
    const params = createParams();
    params.colorBy.set('side');
    params.embedding.set('a');
    const settings = captureSettings(params);
    expect(settings).toMatchObject({ 'color-by': 'side', 'neighbor-count': 20 });
    expect(settings).not.toHaveProperty('embedding');
    const restored = createParams();
    restoreSettings(settings, restored);
    expect(restored.colorBy.value).toBe('side');
  });

  it('ignores unknown settings and those of another embedding', () => {
    const params = createParams();
    restoreSettings({ unknown: 1, embedding: 'a', 'neighbor-count': 7 }, params);
    expect([params.neighborCount.value, params.embedding.value]).toEqual([7, '']);
  });
});

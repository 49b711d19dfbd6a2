import { describe, expect, it } from 'vitest';

import { toOrbit } from './bookmarks.svelte';

describe('the camera of a view of TensorBoard', () => {
  it('looks from the same side and from as far', () => {
    const start = { orthographic: false, position: [0.45, 0.9, 1.6], target: [0, 0, 0], zoom: 1 };
    const orbit = toOrbit(start as never);
    expect(orbit.zoom).toBeCloseTo(1);
    expect(orbit.yaw).toBeCloseTo(Math.atan2(0.45, 1.6));
    expect(orbit.pitch).toBeCloseTo(Math.asin(0.9 / Math.hypot(0.45, 0.9, 1.6)));
    const close = { ...start, position: [0.225, 0.45, 0.8] };
    expect(toOrbit(close as never)).toMatchObject({ yaw: orbit.yaw, zoom: 2 * orbit.zoom });
  });

  it('is moved and magnified in the plane', () => {
    const flat = { orthographic: true, position: [0.5, 0, 4], target: [0.5, 0, 0], zoom: 3 };
    expect(toOrbit(flat as never)).toEqual({ yaw: 0, pitch: 0, zoom: 3, target: [0.5, 0, 0] });
  });

  it('is somewhere even where it stands on what it looks at', () => {
    const odd = { orthographic: false, position: [1, 1, 1], target: [1, 1, 1], zoom: 1 };
    expect(
      Object.values(toOrbit(odd as never))
        .flat()
        .every(Number.isFinite),
    ).toBe(true);
  });
});

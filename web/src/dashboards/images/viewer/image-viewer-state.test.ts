import { describe, expect, it } from 'vitest';

import type { Param } from '../../../plugin/context';
import { FIT_VIEWPORT, type PaneGeometry, type Viewport } from '../image-geometry';
import { ViewerState } from './image-viewer-state.svelte';

function makePane(size: number): PaneGeometry {
  return { size: { width: size, height: size }, imageSize: { width: 1000, height: 1000 } };
}

function makeViewer(): ViewerState {
  let value: Viewport = FIT_VIEWPORT;
  const viewport: Param<Viewport> = {
    get value() {
      return value;
    },
    set: (changed) => void (value = changed),
  };
  return new ViewerState(viewport);
}

describe('activePane', () => {
  it('has its current size', () => {
    const viewer = makeViewer();
    viewer.setPane('a', makePane(40));
    viewer.setPane('a', makePane(500));
    expect(viewer.activePane).toEqual(makePane(500));
  });

  it('is the first one, until another one is active', () => {
    const viewer = makeViewer();
    viewer.setPane('a', makePane(500));
    viewer.setPane('b', makePane(250));
    expect(viewer.activePane).toEqual(makePane(500));
    viewer.activatePane('b');
    expect(viewer.activePane).toEqual(makePane(250));
  });

  it('is another one after it is removed', () => {
    const viewer = makeViewer();
    viewer.setPane('a', makePane(500));
    viewer.setPane('b', makePane(250));
    viewer.activatePane('a');
    viewer.removePane('a');
    expect(viewer.activePane).toEqual(makePane(250));
    viewer.removePane('b');
    expect(viewer.activePane).toBeNull();
  });
});

import type { Param } from '../../../plugin/context';
import { type Viewport, WHOLE } from '../geometry/viewport';

/** Where a picture is looked at as long as it is on the screen, and no longer. */
export function localViewport(): Param<Viewport> {
  let viewport = $state.raw(WHOLE);
  return {
    get value() {
      return viewport;
    },
    set: (value) => void (viewport = value),
  };
}

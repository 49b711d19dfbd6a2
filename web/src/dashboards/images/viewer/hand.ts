import type { Hand } from '../../../charts/stage/gestures';
import {
  type Pane,
  panBy,
  pixelAt,
  type Spot,
  type Viewport,
  WHOLE,
  zoomAt,
} from '../geometry/viewport';

/** What gestures act on. */
export interface Held {
  pane(): Pane;
  viewport(): Viewport;
  show(viewport: Viewport): void;
  /** The pixel pointed at; null beside the picture. */
  point(at: Spot | null): void;
  pick?(): void;
}

/** What gestures do to a picture: drag moves it, ctrl-wheel and pinch zoom, double-click shows all. */
export function handOn({ pane, viewport, show, point, pick }: Held): Hand {
  let last: Spot | null = null;
  const move = (dx: number, dy: number): void => show(panBy(pane(), viewport(), dx, dy));
  return {
    hover: (at) => point(at && pixelAt(pane(), viewport(), at)),
    pick: () => pick?.(),
    drag(from, to) {
      const before = last ?? from;
      last = to;
      move(to.x - before.x, to.y - before.y);
    },
    drop: () => void (last = null),
    cancel: () => void (last = null),
    pan: move,
    zoom: (at, factor) => show(zoomAt(pane(), viewport(), at, factor)),
    fit: () => show(WHOLE),
    grabs: () => viewport().zoom > 1,
  };
}

import type { Model } from '../state/model.svelte';
import type { Trace } from '../state/trace.svelte';
import { lengthOf, move, zoom } from '../view/span';
import type { Place, Wishes } from './hand';
import { hit, type Hit } from './hit';
import { snap } from './snap';

const SNAP_PX = 6;

export interface Hovered {
  readonly hit: Hit;
  readonly x: number;
  readonly y: number;
}

/** What a hand on the stage of a capture brings about. */
export function wishesFor(
  trace: Trace,
  model: () => Model,
  width: () => number,
  onhover: (hovered: Hovered | null) => void,
): Wishes {
  const { camera } = trace;
  const perPixel = (): number => lengthOf(camera.span) / width();
  const find = (place: Place): Hit | null => hit(model(), trace.spanOf(model()), width(), place);
  const momentAt = (place: Place): number => {
    const found = find(place);
    const moment = trace.spanOf(model()).start + place.x * perPixel();
    return found ? snap(found.parts, found.lane, moment, SNAP_PX * perPixel()) : moment;
  };
  return {
    hover(x, y) {
      trace.rule = camera.span.start + x * perPixel();
      const found = find({ x, y });
      onhover(found && { hit: found, x, y });
    },
    leave() {
      trace.rule = null;
      onhover(null);
    },
    click(x, y) {
      const found = find({ x, y });
      trace.measure(model(), null);
      trace.choose(model(), model().isCopy ? null : (found?.entry?.event ?? null));
    },
    enlarge(x, y) {
      const entry = find({ x, y })?.entry;
      if (!entry) return camera.fit();
      const start = entry.start - trace.shiftOf(model());
      const air = 0.1 * entry.duration;
      camera.go({ start: start - air, end: start + entry.duration + air });
    },
    drag(dx, dy) {
      camera.jump(move(camera.span, -dx * perPixel()));
      model().scrollTo(model().scroll - dy);
      onhover(null);
    },
    scroll(dy) {
      model().scrollTo(model().scroll + dy);
      onhover(null);
    },
    zoom(by, x) {
      camera.jump(zoom(camera.span, by, camera.span.start + x * perPixel()));
      onhover(null);
    },
    select(from, to, done) {
      const [one, other] = [momentAt(from), momentAt(to)];
      const span = { start: Math.min(one, other), end: Math.max(one, other) };
      trace.measure(model(), span, tracksBetween(model(), from.y, to.y));
      if (done && lengthOf(span) === 0) trace.measure(model(), null);
    },
  };
}

/** The tracks that a hand passed over; all of them where it stayed in one height. */
function tracksBetween(model: Model, from: number, to: number): readonly number[] {
  const [top, bottom] = [Math.min(from, to), Math.max(from, to)];
  const { pinned, rest, pinnedHeight } = model.layout;
  const shift = pinnedHeight - model.scroll;
  const touched = [
    ...pinned.filter((band) => band.top < bottom && band.top + band.height > top),
    ...rest.filter((band) => band.top + shift < bottom && band.top + shift + band.height > top),
  ];
  return touched.length > 1 ? touched.map(({ track }) => track.id) : model.shownTracks;
}

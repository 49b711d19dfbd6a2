import type { ArrowsAnswer, EventAnswer, EventRow } from '../data/answers';
import type { Arrow, ArrowEnd } from '../draw/overlay';
import type { Model } from '../state/model.svelte';

/** The arrows of the chosen event and, where `all` are wanted, those of the others. */
export function arrowsOf(model: Model, all: boolean): Arrow[] {
  const chosen = model.chosen === null ? null : model.event.answer;
  const others = all && model.arrows.answer ? listArrows(model.arrows.answer) : [];
  return chosen ? [...others, ...arrowsOfEvent(chosen)] : others;
}

function arrowsOfEvent({ row, came_from, led_to }: EventAnswer): Arrow[] {
  const end = ({ track, lane, start_ps }: EventRow): ArrowEnd => ({ track, lane, ps: start_ps });
  return [
    ...came_from.map((from) => ({ from: end(from), to: end(row), isMine: true })),
    ...led_to.map((to) => ({ from: end(row), to: end(to), isMine: true })),
  ];
}

function listArrows(answer: ArrowsAnswer): Arrow[] {
  const { source_track, source_lane, source_ps, target_track, target_lane, target_ps } = answer;
  const end = (track: Int32Array, lane: Int32Array, ps: Float64Array, at: number): ArrowEnd => ({
    track: track[at] ?? -1,
    lane: lane[at] ?? 0,
    ps: ps[at] ?? 0,
  });
  return Array.from(answer.source, (_, at) => ({
    from: end(source_track, source_lane, source_ps, at),
    to: end(target_track, target_lane, target_ps, at),
    isMine: false,
  }));
}

import type { Palette } from '../../../../charts/picture/palette';
import type { Marked, Overlay, Places } from '../draw/overlay';
import type { Scene } from '../draw/picture';
import type { Shades } from '../draw/shades';
import type { Model } from '../state/model.svelte';
import type { Trace } from '../state/trace.svelte';
import { arrowsOf } from './arrows';

/** What is drawn of a capture; null as long as nothing is known of it. */
export function sceneOf(
  trace: Trace,
  model: Model,
  shades: Shades,
  { text: ink }: Palette,
): Scene | null {
  const { store, timeline, layout, scroll, lit, params } = model;
  if (!store || !timeline.answer) return null;
  const { steps } = timeline.answer;
  const [span, byTrack] = [trace.spanOf(model), params.colour.value === 'track'];
  return { layout, scroll, span, steps, store, lit, shades, byTrack, ink };
}

export function placesOf(trace: Trace, model: Model): Places {
  const { width, height } = model;
  return { width, height, span: trace.spanOf(model), bandOf: (track) => model.bandOf(track) };
}

/** What lies over it, wherever the pointer is. */
export function marksOver(model: Model, colours: Palette): Omit<Overlay, 'hovered' | 'rule'> {
  return {
    chosen: chosenOf(model),
    selection: model.measured,
    arrows: arrowsOf(model, model.params.arrows.value),
    colours,
  };
}

function chosenOf({ chosen, event }: Model): Marked | null {
  const row = chosen === null ? null : event.answer?.row;
  if (!row) return null;
  return { track: row.track, lane: row.lane, start: row.start_ps, duration: row.duration_ps };
}

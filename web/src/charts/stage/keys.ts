import type { Scale } from '../axis/scale';
import { type Columned, nextX } from '../nearest';
import type { LineChartProps } from '../props';
import type { Chart } from './chart.svelte';
import type { Hand } from './gestures';

/** Pixels that an arrow key moves at least, alone and with shift. */
const STEP = 1;
const LEAP = 40;
const CLOSER = 1.5;
/** How many times larger a key shows a chart; 0 shows all of it. */
const FACTORS: Readonly<Record<string, number>> = {
  '+': CLOSER,
  '=': CLOSER,
  '-': 1 / CLOSER,
  '0': 0,
};

/** Does what a key means to a chart that has the focus; other keys go on to the page. */
export function pressKey(
  event: KeyboardEvent,
  chart: Chart,
  hand: Hand,
  given: LineChartProps,
): void {
  if (event.ctrlKey || event.metaKey) return;
  if (!moveCursor(event, chart, given) && !zoom(event, chart, hand, given)) return;
  event.preventDefault();
  event.stopPropagation();
}

function moveCursor(
  event: KeyboardEvent,
  { content, layout }: Chart,
  { cursor = null, pinned = null, onpick, onhover }: LineChartProps,
): boolean {
  const isPick = event.key === 'Enter' && cursor !== null;
  if (isPick) onpick?.(cursor);
  const next = cursorAfter(
    event,
    [...content.bands, ...content.lines],
    layout.x.scale,
    cursor ?? pinned,
  );
  if (next !== null) onhover?.(next, null, null);
  return isPick || next !== null;
}

/** To the next point that is seen; null for keys that are no arrows. */
function cursorAfter(
  { key, shiftKey }: KeyboardEvent,
  lines: readonly Columned[],
  scale: Scale,
  cursor: number | null,
): number | null {
  const [low, high] = scale.domain;
  if (key === 'Home') return low;
  if (key === 'End') return high;
  const sign = { ArrowLeft: -1, ArrowRight: 1 }[key];
  if (sign === undefined) return null;
  if (cursor === null) return sign > 0 ? low : high;
  const pixels = sign * (shiftKey ? LEAP : STEP);
  const step = scale.valueAt(scale.at(cursor) + pixels) - cursor;
  const next = nextX(lines, cursor, step) ?? (sign > 0 ? high : low);
  return Math.max(low, Math.min(high, next));
}

/** Around the cursor, or the middle of what is seen. */
function zoom(
  { key }: KeyboardEvent,
  { layout }: Chart,
  hand: Hand,
  { cursor, pinned }: LineChartProps,
): boolean {
  const factor = FACTORS[key];
  const { left, top, width, height } = layout.frame;
  const at = cursor ?? pinned ?? null;
  const x = at === null ? left + width / 2 : layout.x.scale.at(at);
  if (factor === 0) hand.fit();
  else if (factor !== undefined) hand.zoom({ x, y: top + height / 2 }, factor);
  return factor !== undefined;
}

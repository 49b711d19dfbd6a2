import { decodeColumns } from '../api/decode';
import type { ChartRow } from '../api/scalar-schemas';
import type { Line } from '../charts/types';
import { assignRunColors, getRunColor } from '../lib/colors';
import type { XAxis } from '../plugin/context';
import { columnsOf, nonFiniteMarkers } from '../scalar-cards/chart-lines';

/** A line for each run, in colours that no two share as long as there are enough. */
export function makeLines(answer: ChartRow): Line[] {
  const colors = assignRunColors(answer.lines.map(({ run }) => run));
  return answer.lines.map((line) => ({
    id: line.run,
    label: line.run,
    color: colors.get(line.run) ?? getRunColor(line.run),
    dash: [],
    axis: 0,
    ...columnsOf(line, answer.grid),
    markers: nonFiniteMarkers(line),
  }));
}

/** What the kernel tells of a chart, as notebooks hand it on. */
export interface WidgetModel {
  get(name: 'answer'): DataView;
  get(name: 'title' | 'problem'): string;
  get(name: 'axis'): XAxis;
  get(name: 'height'): number;
  on(events: string, listener: () => void): void;
  off(events: string, listener: () => void): void;
}

const CHANGE_EVENTS = 'change:answer change:problem';

/** The chart as it is now; follows the kernel until it is let go of. */
export class ChartModel {
  chart = $state.raw<ChartRow | null>(null);
  error = $state('');

  constructor(private readonly model: WidgetModel) {
    this.#read();
    model.on(CHANGE_EVENTS, this.#read);
  }

  dispose(): void {
    this.model.off(CHANGE_EVENTS, this.#read);
  }

  readonly #read = (): void => {
    this.error = this.model.get('problem');
    const { buffer, byteOffset, byteLength } = this.model.get('answer');
    if (byteLength === 0) return;
    // Columns begin at multiples of eight bytes, which a message need not do.
    const own = (buffer as ArrayBuffer).slice(byteOffset, byteOffset + byteLength);
    this.chart = decodeColumns(own) as ChartRow;
  };
}

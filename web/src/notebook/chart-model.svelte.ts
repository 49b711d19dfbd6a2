import { decodeColumns } from '../api/transport';
import type { ChartRow } from '../api/query-definition';
import type { Line } from '../charts/types';
import { assignRunColors, getRunColor } from '../lib/run-colors';
import type { XAxis } from '../plugin/context';
import { lineColumns, nonFiniteMarkers } from '../scalar-cards/chart-lines';

/** Return a line for each run; colors are distinct as long as there are enough. */
export function makeLines(chart: ChartRow): Line[] {
  const colors = assignRunColors(chart.lines.map(({ run }) => run));
  return chart.lines.map((line) => ({
    id: line.run,
    label: line.run,
    color: colors.get(line.run) ?? getRunColor(line.run),
    dash: [],
    axis: 0,
    ...lineColumns(line, chart.grid),
    markers: nonFiniteMarkers(line),
  }));
}

/** The widget model of the notebook, synchronized with the Python object. */
export interface WidgetModel {
  get(name: 'answer'): DataView;
  get(name: 'title' | 'problem'): string;
  get(name: 'axis'): XAxis;
  get(name: 'height'): number;
  on(events: string, listener: () => void): void;
  off(events: string, listener: () => void): void;
}

const CHANGE_EVENTS = 'change:answer change:problem';

/** The chart that the kernel sends; updated until `dispose`. */
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
    // Columns are aligned to eight bytes relative to the start of the buffer.
    const aligned = (buffer as ArrayBuffer).slice(byteOffset, byteOffset + byteLength);
    this.chart = decodeColumns(aligned) as ChartRow;
  };
}

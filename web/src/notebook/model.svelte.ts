import { decodeColumns } from '../api/columns';
import type { ChartAnswer } from '../api/scalars';
import type { XAxis } from '../plugin/context';

/** What the kernel tells of a chart, as notebooks hand it on. */
export interface Model {
  get(name: 'answer'): DataView;
  get(name: 'title' | 'problem'): string;
  get(name: 'axis'): XAxis;
  get(name: 'height'): number;
  on(events: string, listener: () => void): void;
  off(events: string, listener: () => void): void;
}

const EVENTS = 'change:answer change:problem';

/** The chart as it is now; follows the kernel until it is let go of. */
export class Told {
  chart = $state.raw<ChartAnswer | null>(null);
  problem = $state('');

  constructor(private readonly model: Model) {
    this.#read();
    model.on(EVENTS, this.#read);
  }

  letGo(): void {
    this.model.off(EVENTS, this.#read);
  }

  readonly #read = (): void => {
    this.problem = this.model.get('problem');
    const { buffer, byteOffset, byteLength } = this.model.get('answer');
    if (byteLength === 0) return;
    // Columns begin at multiples of eight bytes, which a message need not do.
    const own = (buffer as ArrayBuffer).slice(byteOffset, byteOffset + byteLength);
    this.chart = decodeColumns(own) as ChartAnswer;
  };
}

import { type RunSteps, valuePath } from '../../../api/values';

/** One logged value: the pictures of a tag of a run at a step. */
export class Value {
  /** Tells it from any other value of the log. */
  readonly key: string;

  constructor(
    readonly steps: RunSteps,
    readonly place: number,
  ) {
    this.key = this.path('about');
  }

  get run(): string {
    return this.steps.run;
  }

  get step(): number {
    return this.steps.step[this.place] ?? NaN;
  }

  /** In seconds since 1970. */
  get wallTime(): number {
    return this.steps.wallTime[this.place] ?? NaN;
  }

  path(verb: string, extra: Readonly<Record<string, number>> = {}): string {
    return valuePath(verb, this.steps, this.place, extra);
  }

  /** The value some places later in the series, or earlier; undefined beyond its ends. */
  neighbour(distance: number): Value | undefined {
    const place = this.place + distance;
    const isThere = place >= 0 && place < this.steps.index.length;
    return isThere ? new Value(this.steps, place) : undefined;
  }
}

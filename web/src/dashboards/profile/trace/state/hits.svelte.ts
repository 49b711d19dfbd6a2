import type { Model } from './model.svelte';
import type { Trace } from './trace.svelte';

/** So many found events come at once; the server says so as well. */
const PAGE = 2000;

/** Goes from one found event to the next. */
export class Hits {
  constructor(
    readonly trace: Trace,
    readonly model: Model,
  ) {}

  /** Which of all that were found is chosen; null where none of them is. */
  readonly at = $derived.by(() => {
    const { chosen, found } = this.model;
    if (chosen === null || !found.answer) return null;
    const at = found.answer.event.indexOf(chosen);
    return at < 0 ? null : found.answer.offset + at;
  });

  /** To the next one, or with −1 the one before; from where one is looking, if none is chosen. */
  go(by: 1 | -1): void {
    const { answer } = this.model.found;
    if (!answer || answer.count === 0) return;
    const next = this.at === null ? this.#near(by) : this.at + by;
    const at = (next + answer.count) % answer.count;
    const event = answer.event[at - answer.offset];
    if (event === undefined) this.model.page = Math.floor(at / PAGE) * PAGE;
    else this.trace.goTo(this.model, event);
  }

  /** The first one in the stretch that is seen, or after it. */
  #near(by: 1 | -1): number {
    const { answer } = this.model.found;
    const moment = this.trace.camera.span.start + this.trace.shiftOf(this.model);
    const at = answer?.start.findIndex((start) => start >= moment) ?? 0;
    const first = at < 0 ? 0 : at;
    return (answer?.offset ?? 0) + (by > 0 ? first : first - 1);
  }
}

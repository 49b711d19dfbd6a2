import {
  AUTO,
  reachOf,
  select,
  selectExactly,
  type Selection,
  selectionCodec,
  takeFirst,
  withTicks,
} from '../../base/selection';
import { address } from '../address.svelte';
import { entries } from './entries.svelte';
import { filter } from './filter.svelte';

/** More exceptions than this make an address too long to copy. */
const MANY_EXCEPTIONS = 200;

/** Which runs are ticked. */
class RunSelection {
  readonly #param = address.param('sel', selectionCodec, AUTO);
  /** What was ticked before one run was shown alone. */
  #before: Selection | null = null;

  /**
   * Whether a run is ticked, for who asks about thousands. The newest are those of the runs that pass
   * the filter: what is looked for is also shown.
   */
  readonly isTicked: (name: string) => boolean = $derived.by(() => {
    const { rule, on, off } = this.#param.value;
    if (rule === 'all') return (name) => !off.has(name);
    if (rule === 'none') return (name) => on.has(name);
    const reach = reachOf(rule, filter.found.length);
    const newest = takeFirst(entries.newestFirst, filter.passes, reach);
    return (name) => on.has(name) || (newest.has(name) && !off.has(name));
  });

  tick(names: readonly string[], ticked: boolean): void {
    const changed = names.filter((name) => this.isTicked(name) !== ticked);
    if (changed.length > 0) this.#set(withTicks(this.#param.value, changed, ticked));
  }

  /** All that pass the filter, and no others are touched. */
  tickFound(ticked: boolean): void {
    if (filter.found.length === entries.all.length) this.#set(select(ticked ? 'all' : 'none'));
    else
      this.tick(
        filter.found.map((entry) => entry.name),
        ticked,
      );
  }

  invert(): void {
    const [on, off]: [string[], string[]] = [[], []];
    for (const { name } of filter.found) (this.isTicked(name) ? on : off).push(name);
    this.#set(withTicks(withTicks(this.#param.value, off, true), on, false));
  }

  pickNewest(count: number): void {
    this.#param.set(select({ newest: count }), 'push');
  }

  /** Only these; once more brings back what was ticked before. */
  solo(names: readonly string[]): void {
    const current = this.#param.value;
    const isAlone =
      current.rule === 'none' &&
      current.on.size === names.length &&
      names.every((name) => current.on.has(name));
    if (!isAlone) this.#before = current;
    this.#param.set(isAlone ? (this.#before ?? AUTO) : select('none', names), 'push');
  }

  showOnly(names: readonly string[]): void {
    this.#param.set(select('none', names), 'push');
  }

  reset(): void {
    this.#param.set(AUTO);
  }

  #set(selection: Selection): void {
    this.#param.set(selection);
    const { on, off } = selection;
    if (on.size + off.size <= MANY_EXCEPTIONS) return;
    const names = entries.all.map((entry) => entry.name);
    this.#param.set(selectExactly(new Set(names.filter(this.isTicked)), names));
  }
}

export const selection = new RunSelection();

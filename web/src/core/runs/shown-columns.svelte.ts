import { json, list } from '../../base/codec';
import { address } from '../address.svelte';
import { tastes } from '../tastes.svelte';
import { columns } from './columns.svelte';

const PLAIN = ['start', 'points'];
const MOST_CHOSEN = 2;
export const NARROWEST_COLUMN = 36;
export const WIDEST_COLUMN = 400;
const USUAL_WIDTHS: Readonly<Record<string, number>> = {
  start: 94,
  duration: 84,
  points: 54,
  tags: 48,
  labels: 90,
  note: 140,
};
const USUAL_WIDTH = 62;

type Widths = Readonly<Record<string, number>>;

/** The columns of the table beside the name. */
class ShownColumns {
  readonly #chosen = address.param<readonly string[] | null>(
    'cols',
    { parse: list.parse, format: (keys) => (keys === null ? '~' : list.format(keys)) },
    null,
  );

  readonly #widths = tastes.param('runs-columns', json(isWidths, {}), {});

  /** Until a user chooses, hyperparameters in which runs differ tell most about them. */
  readonly keys: readonly string[] = $derived.by(() => {
    if (this.#chosen.value !== null) return this.#chosen.value;
    const telling = columns.there.hparams.filter((hparam) => hparam.distinct > 1);
    const keys = telling.slice(0, MOST_CHOSEN).map((hparam) => `hparam:${hparam.name}`);
    return keys.length > 0 ? keys : PLAIN;
  });

  widthOf(key: string): number {
    return this.#widths.value[key] ?? USUAL_WIDTHS[key] ?? USUAL_WIDTH;
  }

  resize(key: string, width: number): void {
    this.#widths.set({ ...this.#widths.value, [key]: width });
  }

  add(key: string): void {
    if (!this.keys.includes(key)) this.#chosen.set([...this.keys, key]);
  }

  remove(key: string): void {
    this.#chosen.set(this.keys.filter((other) => other !== key));
  }

  /** Puts a column `by` places further to the right. */
  move(key: string, by: number): void {
    const keys = this.keys.filter((other) => other !== key);
    const place = this.keys.indexOf(key) + by;
    this.#chosen.set(keys.toSpliced(Math.max(0, place), 0, key));
  }
}

function isWidths(value: unknown): value is Widths {
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.values(value).every((width) => typeof width === 'number')
  );
}

export const shownColumns = new ShownColumns();

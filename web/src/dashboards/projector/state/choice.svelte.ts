import { untrack } from 'svelte';

import type { Param } from '../../../plugin/context';
import {
  countIn,
  invert,
  join,
  type Join,
  type Mask,
  maskOf,
  readRows,
  rowsOf,
  writeRows,
} from '../data/rows';
import type { Params } from './params';

/** Longer than this a list of rows does not go into an address. */
const LONGEST = 1500;

/** Which points are chosen, which alone are looked at, and which are hidden. */
export class Choice {
  selected = $state.raw<Mask | null>(null);
  only = $state.raw<Mask | null>(null);
  hidden = $state.raw<Mask | null>(null);
  readonly #params: Params;
  #total = 0;

  constructor(params: Params) {
    this.#params = params;
  }

  readonly count = $derived(this.selected ? countIn(this.selected) : 0);
  readonly hiddenCount = $derived(this.hidden ? countIn(this.hidden) : 0);
  readonly onlyCount = $derived(this.only ? countIn(this.only) : null);
  readonly rows = $derived(this.selected ? rowsOf(this.selected) : new Int32Array());

  /** Points of another embedding: what the address says of them, else none. */
  begin(total: number): void {
    if (total === this.#total) return;
    const isFirst = this.#total === 0;
    this.#total = total;
    const { chosen, only, hidden } = this.#params;
    const read = ({ value }: Param<string>): Mask | null =>
      isFirst && value !== '' ? maskOf(total, readRows(value)) : null;
    this.selected = read(chosen);
    this.only = read(only);
    this.hidden = read(hidden);
  }

  /** To be called where effects live. */
  follow(): void {
    $effect(() => this.#write(this.#params.chosen, this.selected));
    $effect(() => this.#write(this.#params.only, this.only));
    $effect(() => this.#write(this.#params.hidden, this.hidden));
  }

  select(rows: ArrayLike<number>, how: Join = 'replace'): void {
    const mask = join(this.selected, rows, this.#total, how);
    this.selected = countIn(mask) > 0 ? mask : null;
  }

  clear(): void {
    this.selected = null;
  }

  /** Of what is seen, all that was not chosen. */
  turnRound(seen: Mask | null): void {
    const mask = invert(this.selected ?? new Uint8Array(this.#total), seen);
    this.selected = countIn(mask) > 0 ? mask : null;
  }

  /** Looks at the chosen points alone, and lays them out anew. */
  isolate(): void {
    if (!this.selected) return;
    this.only = this.selected;
    this.selected = null;
  }

  hide(): void {
    if (!this.selected) return;
    this.hidden = join(this.hidden, this.rows, this.#total, 'add');
    this.selected = null;
  }

  /** All points are back. */
  showAll(): void {
    this.only = null;
    this.hidden = null;
  }

  #write(param: Param<string>, mask: Mask | null): void {
    if (this.#total === 0) return;
    const text = mask ? writeRows(rowsOf(mask)) : '';
    const wanted = text.length > LONGEST ? '' : text;
    untrack(() => {
      if (param.value !== wanted) param.set(wanted, 'replace');
    });
  }
}

import { untrack } from 'svelte';

import type { Param } from '../../plugin/context';
import {
  countRows,
  invertMask,
  combineMask,
  type SelectionMode,
  type RowMask,
  createMask,
  parseRowRanges,
  listRows,
  formatRowRanges,
} from './row-mask';
import type { ProjectorParams } from './projector-params';

/** Longer than this a list of rows does not go into an address. */
const MAX_URL_CHARACTERS = 1500;

/** Which points are chosen, which alone are looked at, and which are hidden. */
export class PointSelection {
  selected = $state.raw<RowMask | null>(null);
  isolated = $state.raw<RowMask | null>(null);
  hidden = $state.raw<RowMask | null>(null);
  readonly #params: ProjectorParams;
  #total = 0;

  constructor(params: ProjectorParams) {
    this.#params = params;
  }

  readonly selectedCount = $derived(this.selected ? countRows(this.selected) : 0);
  readonly hiddenCount = $derived(this.hidden ? countRows(this.hidden) : 0);
  readonly isolatedCount = $derived(this.isolated ? countRows(this.isolated) : null);
  readonly selectedRows = $derived(this.selected ? listRows(this.selected) : new Int32Array());

  /** Points of another embedding: what the address says of them, else none. */
  reset(total: number): void {
    if (total === this.#total) return;
    const isFirst = this.#total === 0;
    this.#total = total;
    const { selectedRows, isolatedRows, hiddenRows } = this.#params;
    const read = ({ value }: Param<string>): RowMask | null =>
      isFirst && value !== '' ? createMask(total, parseRowRanges(value)) : null;
    this.selected = read(selectedRows);
    this.isolated = read(isolatedRows);
    this.hidden = read(hiddenRows);
  }

  /** To be called where effects live. */
  startEffects(): void {
    $effect(() => this.#writeParam(this.#params.selectedRows, this.selected));
    $effect(() => this.#writeParam(this.#params.isolatedRows, this.isolated));
    $effect(() => this.#writeParam(this.#params.hiddenRows, this.hidden));
  }

  select(rows: ArrayLike<number>, how: SelectionMode = 'replace'): void {
    const mask = combineMask(this.selected, rows, this.#total, how);
    this.selected = countRows(mask) > 0 ? mask : null;
  }

  clear(): void {
    this.selected = null;
  }

  /** Of what is seen, all that was not chosen. */
  invert(seen: RowMask | null): void {
    const mask = invertMask(this.selected ?? new Uint8Array(this.#total), seen);
    this.selected = countRows(mask) > 0 ? mask : null;
  }

  /** Looks at the chosen points alone, and lays them out anew. */
  isolate(): void {
    if (!this.selected) return;
    this.isolated = this.selected;
    this.selected = null;
  }

  hide(): void {
    if (!this.selected) return;
    this.hidden = combineMask(this.hidden, this.selectedRows, this.#total, 'add');
    this.selected = null;
  }

  /** All points are back. */
  showAll(): void {
    this.isolated = null;
    this.hidden = null;
  }

  #writeParam(param: Param<string>, mask: RowMask | null): void {
    if (this.#total === 0) return;
    const text = mask ? formatRowRanges(listRows(mask)) : '';
    const wanted = text.length > MAX_URL_CHARACTERS ? '' : text;
    untrack(() => {
      if (param.value !== wanted) param.set(wanted, 'replace');
    });
  }
}

import type { Param } from '../../plugin/context';
import type { ProjectorParams } from './projector-params';
import {
  combineMask,
  countRows,
  createMask,
  formatRowRanges,
  invertMask,
  listRows,
  parseRowRanges,
  type RowMask,
  type SelectionMode,
} from './row-mask';

/** Longer lists of rows are kept in memory; the URL has a hash of them. */
const MAX_URL_CHARACTERS = 1500;
const HASH_PREFIX = '~';
const MAX_STORED_MASKS = 100;

/**
 * The selected, isolated and hidden points. The URL has all of them, so that Back and Forward undo
 * and redo a selection. Long lists are restored only until the page is reloaded.
 */
export class PointSelection {
  readonly #params: ProjectorParams;
  readonly #getRowCount: () => number;
  /** Long lists by their hash, the oldest first. */
  readonly #stored = new Map<string, RowMask>();

  constructor(params: ProjectorParams, getRowCount: () => number) {
    this.#params = params;
    this.#getRowCount = getRowCount;
  }

  readonly #rowCount = $derived.by(() => this.#getRowCount());
  readonly selected = $derived.by(() => this.#read(this.#params.selectedRows));
  readonly isolated = $derived.by(() => this.#read(this.#params.isolatedRows));
  readonly hidden = $derived.by(() => this.#read(this.#params.hiddenRows));

  readonly selectedCount = $derived(this.selected ? countRows(this.selected) : 0);
  readonly hiddenCount = $derived(this.hidden ? countRows(this.hidden) : 0);
  readonly isolatedCount = $derived(this.isolated ? countRows(this.isolated) : null);
  readonly selectedRows = $derived(this.selected ? listRows(this.selected) : new Int32Array());

  select(rows: ArrayLike<number>, mode: SelectionMode = 'replace'): void {
    const mask = combineMask(this.selected, rows, this.#rowCount, mode);
    this.#write(this.#params.selectedRows, mask);
  }

  clear(): void {
    this.#write(this.#params.selectedRows, null);
  }

  /** Select the visible points that are not selected. */
  invert(visible: RowMask | null): void {
    const mask = invertMask(this.selected ?? new Uint8Array(this.#rowCount), visible);
    this.#write(this.#params.selectedRows, mask);
  }

  /** Show only the selected points, in a layout of their own. */
  isolate(): void {
    if (this.selected) this.restore({ selected: null, isolated: this.selected });
  }

  /** Show all points but the selected ones, in a layout of their own. */
  isolateOthers(): void {
    if (!this.selected) return;
    this.restore({ selected: null, isolated: invertMask(this.selected, this.isolated) });
  }

  hide(): void {
    if (!this.selected) return;
    const hidden = combineMask(this.hidden, this.selectedRows, this.#rowCount, 'add');
    this.restore({ selected: null, hidden });
  }

  showAll(): void {
    this.restore({ isolated: null, hidden: null });
  }

  /** Replace some of the three sets, as one entry of the browser's history. */
  restore(masks: {
    readonly selected?: RowMask | null;
    readonly isolated?: RowMask | null;
    readonly hidden?: RowMask | null;
  }): void {
    const { selectedRows, isolatedRows, hiddenRows } = this.#params;
    if (masks.selected !== undefined) this.#write(selectedRows, masks.selected);
    if (masks.isolated !== undefined) this.#write(isolatedRows, masks.isolated);
    if (masks.hidden !== undefined) this.#write(hiddenRows, masks.hidden);
  }

  toMask(rows: ArrayLike<number>): RowMask {
    return createMask(this.#rowCount, rows);
  }

  #read({ value }: Param<string>): RowMask | null {
    const count = this.#rowCount;
    if (value === '' || count === 0) return null;
    if (!value.startsWith(HASH_PREFIX)) {
      const mask = parseRowRanges(value, count);
      return countRows(mask) > 0 ? mask : null;
    }
    const stored = this.#stored.get(value);
    return stored?.length === count ? stored : null;
  }

  #write(param: Param<string>, mask: RowMask | null): void {
    const text = mask ? formatRowRanges(listRows(mask)) : '';
    if (!mask || text.length <= MAX_URL_CHARACTERS) return param.set(text, 'push');
    const key = HASH_PREFIX + hashText(text);
    this.#stored.delete(key);
    this.#stored.set(key, mask);
    const [oldest] = this.#stored.keys();
    if (this.#stored.size > MAX_STORED_MASKS && oldest) this.#stored.delete(oldest);
    param.set(key, 'push');
  }
}

/** FNV-1a, twice with different seeds: 64 bits in 16 hexadecimal digits. */
function hashText(text: string): string {
  const hash = (seed: number): string => {
    let value = seed;
    for (let index = 0; index < text.length; index++) {
      value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
    }
    return (value >>> 0).toString(16).padStart(8, '0');
  };
  return hash(0x811c9dc5) + hash(0x7ee3623b);
}

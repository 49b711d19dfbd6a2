import type { ChartAnswer, SeriesAnswer, SpreadAxis } from '../../../api/histograms';
import type { SpreadView, SpreadZoom } from '../../../charts/spread/types';
import { isBands } from '../../../charts/spread/types';
import type { XFormat } from '../../../charts/types';
import { withCard } from '../../../wall/by-card';
import type { TagCard } from '../../../wall/card';
import type { Board } from '../board.svelte';
import { describe, describeInFull, drawingOf, findOddities } from '../data/drawing';
import type { Want } from '../data/wants';
import { roomFor } from './room';

const FORMATS: Readonly<Record<SpreadAxis, XFormat>> = {
  step: 'step',
  relative: 'duration',
  wall: 'time',
};

/** What the chart of a card draws, kept in step with the answer and the settings. */
export class CardSpread {
  readonly #board: Board;
  card: TagCard;
  /** Of the chart, in pixels. */
  width = $state(0);
  height = $state(0);

  readonly zoom = $derived.by(() => this.#settings.zooms.value.get(this.card.id) ?? null);
  readonly skip = $derived.by(() => this.#settings.skips.value.get(this.card.id) ?? 0);
  readonly runs = $derived.by(() => roomFor(this.#board.mode, this.width, this.height));
  readonly loaded = $derived.by(() => this.#board.loader.find(this.card.id, this.#asked));
  readonly answer = $derived<ChartAnswer | null>(this.loaded?.answer ?? null);
  readonly series = $derived<readonly SeriesAnswer[]>(this.answer?.series ?? []);
  readonly content = $derived.by(() => drawingOf(this.answer, this.#board.context.runs));
  readonly oddities = $derived(findOddities(this.series));
  readonly note = $derived.by(() =>
    this.answer && this.series.length > 0 ? describe(this.answer, this.#isCopy) : '',
  );
  readonly noteInFull = $derived.by(() =>
    this.answer ? describeInFull(this.answer, this.#isCopy) : '',
  );
  readonly format = $derived<XFormat>(FORMATS[this.loaded?.x ?? 'step']);
  readonly isTable = $derived.by(() => this.#settings.tables.value.includes(this.card.id));

  readonly view = $derived.by<SpreadView>(() => ({
    mode: this.#board.mode,
    format: this.format,
    log: this.#board.log,
    ignoreOutliers: this.#settings.ignoreOutliers.value,
    steps: this.zoom?.steps ?? null,
    values: this.zoom?.values ?? null,
  }));

  constructor(board: Board, card: TagCard) {
    this.#board = board;
    this.card = $state.raw(card);
  }

  get #settings() {
    return this.#board.settings;
  }

  get #isCopy(): boolean {
    return this.#board.context.isStatic;
  }

  /** What other answers are needed for: bands have all values, whatever part of them is seen. */
  get #asked(): SpreadZoom | null {
    const { zoom } = this;
    if (zoom === null || this.#isCopy) return null;
    const values = isBands(this.#board.mode) ? null : zoom.values;
    return zoom.steps || values ? { steps: zoom.steps, values } : null;
  }

  get want(): Want {
    const { id, tag } = this.card;
    return { id, tag, runs: this.runs, skip: this.skip, zoom: this.#asked };
  }

  showPart(zoom: SpreadZoom | null): void {
    const { zooms } = this.#settings;
    zooms.set(withCard(zooms.value, this.card.id, zoom));
  }

  passOver(runs: number): void {
    const { skips } = this.#settings;
    skips.set(withCard(skips.value, this.card.id, Math.max(0, runs) || null));
  }
}

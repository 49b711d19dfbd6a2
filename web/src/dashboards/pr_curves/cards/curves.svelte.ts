import type { HistoryRow } from '../../../api/pr-curves';
import type { RunSteps } from '../../../api/values';
import { RUN_COLOURS } from '../../../base/colour';
import { formatStep, plural } from '../../../base/format';
import type { Line } from '../../../charts/types';
import { shortLabels } from '../../../curves/tooltip/labels';
import { mergeSteps, placeAt } from '../../../wall/steps/steps';
import { type Curve, drawLines, idOf, type Reading, readAt } from '../curve/curve';
import { guidesOf } from '../curve/guides';
import type { CurveWant } from '../data/want';
import type { PrCurves } from '../pr-curves.svelte';
import { classOf, type PrCard } from './card';

/** What a card draws, kept in step with what has come and with the settings. */
export class CardCurves {
  readonly #wall: PrCurves;
  card: PrCard;

  readonly series = $derived.by(() => this.#findSeries());
  readonly step = $derived.by(() => this.#wall.choice.of(this.card.id));
  readonly allSteps = $derived(mergeSteps(this.series));
  readonly wants = $derived.by((): readonly CurveWant[] =>
    this.series
      .map((steps) => ({ steps, place: placeAt(steps, this.step), step: this.step }))
      .filter(({ place }) => place >= 0),
  );
  /** The curves at the step, or those seen last while they are on their way. */
  readonly all = $derived.by(() => this.#findCurves());
  readonly curves = $derived(this.all.filter(({ row }) => row.columns !== null));
  readonly faults = $derived(this.all.filter(({ row }) => row.error !== null));
  readonly axes = $derived.by(() => this.#wall.settings.axes.value);
  readonly lines = $derived(drawLines(this.curves, this.axes));
  readonly guides = $derived.by(() =>
    guidesOf(this.curves, this.axes, this.#wall.settings.hasLevels.value),
  );
  readonly zoom = $derived.by(() => this.#wall.settings.zooms.value.get(this.card.id) ?? null);
  readonly history = $derived.by(() => this.#drawHistory());
  /** How far along the steps the card is. */
  readonly shownStep = $derived(this.all.reduce((last, { row }) => Math.max(last, row.step), -1));
  readonly note = $derived.by(() => this.#describe());
  readonly highlighted = $derived.by(() => {
    const run = this.#wall.context.runs.highlighted;
    if (run === null || this.card.run !== null) return [];
    return this.curves.filter(({ row }) => row.run === run).map(({ id }) => id);
  });

  constructor(wall: PrCurves, card: PrCard) {
    this.#wall = wall;
    this.card = $state.raw(card);
  }

  readAll(threshold: number): Reading[] {
    return this.curves.flatMap((curve) => readAt(curve, threshold) ?? []);
  }

  #findSeries(): readonly RunSteps[] {
    const { tags, run } = this.card;
    return tags
      .flatMap((tag) => this.#wall.steps.find(tag) ?? [])
      .filter((steps) => run === null || steps.run === run);
  }

  #findCurves(): Curve[] {
    const { curves } = this.#wall;
    const found = this.wants.flatMap(({ steps, place }) => {
      const row = curves.find(steps, place) ?? curves.findLatest(steps);
      return row ? { id: idOf(row), row, ...this.#lookOf(row) } : [];
    });
    const short = shortLabels(found.map(({ label }) => label));
    return found.map((curve) => ({ ...curve, short: short.get(curve.label) ?? curve.label }));
  }

  /** In colours of their runs or, within one run, of their places among the tags. */
  #lookOf({ run, tag }: { readonly run: string; readonly tag: string }): Look {
    const { card } = this;
    if (card.run !== null) {
      const colour = RUN_COLOURS[card.tags.indexOf(tag) % RUN_COLOURS.length] ?? RUN_COLOURS[0];
      return { label: classOf(tag), colour, dash: [] };
    }
    const known = this.#wall.context.runs.find(run);
    return { label: known?.label ?? run, colour: known?.colour ?? '', dash: known?.dash ?? [] };
  }

  #drawHistory(): Line[] {
    const shown = this.series.map(idOf);
    const column = this.#historyColumn;
    return this.card.tags
      .flatMap((tag) => this.#wall.history.find(tag))
      .filter((row) => shown.includes(idOf(row)))
      .map((row) => ({
        id: idOf(row),
        ...this.#lookOf(row),
        axis: 0,
        x: row.step,
        y: row[column],
      }));
  }

  get #historyColumn(): 'average_precision' | 'roc_area' | 'best_f1' {
    if (this.#wall.settings.measure.value === 'f1') return 'best_f1';
    return this.axes === 'ROC' ? 'roc_area' : 'average_precision';
  }

  /** What stands at the side of the chart over the steps. */
  get historyName(): string {
    return MEASURES[this.#historyColumn];
  }

  #describe(): string {
    const { all, card, shownStep } = this;
    if (all.length === 0) return '';
    const many = card.run === null ? plural(all.length, 'run') : plural(all.length, 'tag');
    return `${many} · step ${formatStep(shownStep)}`;
  }
}

type Look = Pick<Line, 'label' | 'colour' | 'dash'>;

export const MEASURES: Readonly<Record<keyof Numeric, string>> = {
  average_precision: 'AP',
  area: 'area',
  roc_area: 'AUC',
  best_f1: 'best F1',
};

type Numeric = Pick<HistoryRow, 'average_precision' | 'area' | 'roc_area' | 'best_f1'>;

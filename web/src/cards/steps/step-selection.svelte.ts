import * as common from '../../catalog/common';
import * as m from '../../catalog/cards';
import type { Problem } from '../../api/schemas';
import { flag, optionalNumber } from '../../lib/codecs';
import { formatStep } from '../../lib/format';
import type { Param, Shortcut, UrlState } from '../../plugin/context';
import type { CardGridState } from '../card-grid.svelte';
import type { Card, CardCaption, TagCard } from '../card-sections';
import { EMPTY_PER_CARD, type PerCard, perCardCodec, withCardValue } from '../grid-settings';
import { countUpTo, mergeSteps, type SortedSteps } from './step-series';
import type { StepsQuery } from './steps-query.svelte';

const stepsCodec = perCardCodec<number>(
  1,
  ([text = '']) => optionalNumber.parse(text),
  (step) => [String(step)],
);

/** The selected steps: one for all cards, or one per card. */
export class StepSelection {
  readonly linked: Param<boolean>;
  readonly #step: Param<number | null>;
  readonly #steps: Param<PerCard<number>>;

  constructor(address: UrlState) {
    this.linked = address.param('sync-steps', flag, true);
    this.#step = address.param('step', optionalNumber, null);
    this.#steps = address.param('steps', stepsCodec, EMPTY_PER_CARD);
  }

  /** The step of all linked cards; null is the last step of each. */
  get sharedStep(): number | null {
    return this.#step.value;
  }

  /** null follows the last step. */
  stepOf(cardId: string): number | null {
    return this.linked.value ? this.sharedStep : (this.#steps.value.get(cardId) ?? null);
  }

  setStep(cardId: string, step: number | null): void {
    if (this.linked.value) this.setSharedStep(step);
    else this.#steps.set(withCardValue(this.#steps.value, cardId, step));
  }

  setSharedStep(step: number | null): void {
    this.#step.set(step);
  }

  /** Clears the steps of single cards, so that linking shows the same step everywhere. */
  setLinked(linked: boolean): void {
    this.linked.set(linked);
    if (linked) this.#steps.set(EMPTY_PER_CARD);
  }
}

/** The steps of one card and the selected one. */
export class CardStepState {
  readonly #grid: CardGridState<TagCard>;
  readonly #query: StepsQuery;
  readonly #selection: StepSelection;
  readonly #card: () => TagCard;

  /** Steps per visible run; undefined while loading. */
  readonly series = $derived.by((): readonly SortedSteps[] | undefined =>
    this.#query.get(this.#card().tag),
  );
  /** Steps of all runs, sorted and without duplicates. */
  readonly allSteps = $derived.by(() => mergeSteps(this.series ?? []));
  /** null is the last step. */
  readonly step = $derived.by(() => this.#selection.stepOf(this.#card().id));
  readonly error = $derived.by((): Problem | null => this.#query.errorOf(this.#card().tag));
  readonly hasOwnSlider = $derived.by(
    () => !this.#selection.linked.value && this.allSteps.length > 1,
  );
  /** How many of the logged values a static export contains, if not all. */
  readonly exportedValues = $derived.by(() => this.#countExportedValues());
  readonly caption = $derived.by((): string | CardCaption => this.#makeCaption());

  /** Create it where effects can be created. */
  constructor(
    grid: CardGridState<TagCard>,
    query: StepsQuery,
    selection: StepSelection,
    card: () => TagCard,
  ) {
    this.#grid = grid;
    this.#query = query;
    this.#selection = selection;
    this.#card = card;
    $effect(() => query.subscribe(card().tag));
  }

  goTo(step: number | null): void {
    this.#selection.setStep(this.#card().id, step);
  }

  retry(): void {
    this.#query.retry(this.#card().tag);
  }

  #makeCaption(): string | CardCaption {
    const last = this.allSteps.at(-1);
    if (last === undefined) return '';
    if (this.exportedValues)
      return { text: m.stepsReducedInExport(this.exportedValues), alwaysVisible: true };
    return m.stepsSummary({ count: this.allSteps.length, last: formatStep(last) });
  }

  #countExportedValues(): { readonly exported: number; readonly count: number } | null {
    const { row } = this.#card();
    const count = row.count - row.overwritten;
    const exported = (this.series ?? []).reduce((sum, { step }) => sum + step.length, 0);
    return this.#grid.context.isStatic && exported < count ? { exported, count } : null;
  }
}

/** Register the keyboard shortcuts for steps; return a function that removes them. */
export function registerStepShortcuts<C extends Card & { readonly tag: string }>(
  grid: CardGridState<C>,
  selection: StepSelection,
  query: StepsQuery,
  play?: () => void,
): () => void {
  const go = (by: number) => (): void => moveStep(grid, selection, query, by);
  const shortcuts: Omit<Shortcut, 'group'>[] = [
    { keys: 'ArrowLeft', label: m.stepsPrevious, run: go(-1) },
    { keys: 'ArrowRight', label: m.stepsNext, run: go(1) },
    { keys: 'Home', label: m.stepsFirst, run: go(-Infinity) },
    { keys: 'End', label: m.stepsLast, run: go(Infinity) },
    ...(play ? [{ keys: ' ', label: common.playOrPause, run: play }] : []),
  ];
  const group = grid.info.title;
  const stops = shortcuts.map((key) => grid.context.shortcuts.register({ ...key, group }));
  return () => stops.forEach((stop) => stop());
}

/** Move all cards or, if they are not linked, the active one. */
function moveStep<C extends Card & { readonly tag: string }>(
  grid: CardGridState<C>,
  selection: StepSelection,
  query: StepsQuery,
  by: number,
): void {
  const id = grid.settings.fullScreen.value ?? grid.activeCardId ?? '';
  const tag = grid.findCard(id)?.tag ?? '';
  const steps = selection.linked.value ? query.allSteps : mergeSteps(query.get(tag) ?? []);
  const last = steps.length - 1;
  const step = selection.stepOf(id);
  const at = step === null ? last : countUpTo(steps, step) - 1;
  const next = Math.min(last, Math.max(0, at + by));
  selection.setStep(id, next >= last ? null : (steps[next] ?? null));
}

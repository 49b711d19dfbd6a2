import type { Problem } from '../../api/schemas';
import { flag, optionalNumber } from '../../lib/codecs';
import { formatInteger, formatPlural, formatStep } from '../../lib/format';
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

/** At which step cards are looked at: all at one, or each at its own. */
export class StepSelection {
  readonly linked: Param<boolean>;
  readonly #step: Param<number | null>;
  readonly #steps: Param<PerCard<number>>;

  constructor(address: UrlState) {
    this.linked = address.param('link', flag, true);
    this.#step = address.param('step', optionalNumber, null);
    this.#steps = address.param('steps', stepsCodec, EMPTY_PER_CARD);
  }

  /** The step of all cards that are linked; null: each at its last. */
  get sharedStep(): number | null {
    return this.#step.value;
  }

  /** null: at the last, also when further ones come. */
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

  /** What was chosen card by card is forgotten, so that linking shows all at one step. */
  setLinked(linked: boolean): void {
    this.linked.set(linked);
    if (linked) this.#steps.set(EMPTY_PER_CARD);
  }
}

/** The steps of one card: which there are, which is looked at, and what is said of them. */
export class CardStepState {
  readonly #wall: CardGridState<TagCard>;
  readonly #loader: StepsQuery;
  readonly #choice: StepSelection;
  readonly #card: () => TagCard;

  /** Those of each run that is shown; undefined: not known yet. */
  readonly series = $derived.by((): readonly SortedSteps[] | undefined =>
    this.#loader.get(this.#card().tag),
  );
  /** Of all runs, sorted, each once. */
  readonly allSteps = $derived.by(() => mergeSteps(this.series ?? []));
  /** null: at the last. */
  readonly step = $derived.by(() => this.#choice.stepOf(this.#card().id));
  readonly error = $derived.by((): Problem | null => this.#loader.errorOf(this.#card().tag));
  /** Whether the card has a slider of its own. */
  readonly hasOwnSlider = $derived.by(() => !this.#choice.linked.value && this.allSteps.length > 1);
  readonly caption = $derived.by((): string | CardCaption => this.#tell());

  /** To be made where effects live. */
  constructor(
    wall: CardGridState<TagCard>,
    loader: StepsQuery,
    choice: StepSelection,
    card: () => TagCard,
  ) {
    this.#wall = wall;
    this.#loader = loader;
    this.#choice = choice;
    this.#card = card;
    $effect(() => loader.subscribe(card().tag));
  }

  goTo(step: number | null): void {
    this.#choice.setStep(this.#card().id, step);
  }

  retry(): void {
    this.#loader.retry(this.#card().tag);
  }

  #tell(): string | CardCaption {
    const last = this.allSteps.at(-1);
    if (last === undefined) return '';
    const { count, overwritten } = this.#card().row;
    const carried = (this.series ?? []).reduce((sum, { step }) => sum + step.length, 0);
    if (this.#wall.context.isStatic && carried < count - overwritten) {
      const logged = formatPlural(count - overwritten, 'step', formatInteger);
      return { text: `${formatInteger(carried)} of ${logged} in this copy`, alwaysVisible: true };
    }
    return `${formatPlural(this.allSteps.length, 'step', formatInteger)}, the last is ${formatStep(last)}`;
  }
}

/** The keys that go through steps; returns how to take them back. `play` starts and stops. */
export function registerStepShortcuts<C extends Card & { readonly tag: string }>(
  wall: CardGridState<C>,
  choice: StepSelection,
  loader: StepsQuery,
  play?: () => void,
): () => void {
  const go = (by: number) => (): void => moveStep(wall, choice, loader, by);
  const shortcuts: Omit<Shortcut, 'group'>[] = [
    { keys: 'ArrowLeft', label: 'Step before', run: go(-1) },
    { keys: 'ArrowRight', label: 'Next step', run: go(1) },
    { keys: 'Home', label: 'First step', run: go(-Infinity) },
    { keys: 'End', label: 'Last step', run: go(Infinity) },
    ...(play ? [{ keys: ' ', label: 'Play the steps, or stop', run: play }] : []),
  ];
  const group = wall.info.title;
  const stops = shortcuts.map((key) => wall.context.shortcuts.register({ ...key, group }));
  return () => stops.forEach((stop) => stop());
}

/** All cards, or where they are not linked the one that keys are for. */
function moveStep<C extends Card & { readonly tag: string }>(
  wall: CardGridState<C>,
  choice: StepSelection,
  loader: StepsQuery,
  by: number,
): void {
  const id = wall.settings.fullScreen.value ?? wall.activeCardId ?? '';
  const tag = wall.findCard(id)?.tag ?? '';
  const steps = choice.linked.value ? loader.allSteps : mergeSteps(loader.get(tag) ?? []);
  const last = steps.length - 1;
  const step = choice.stepOf(id);
  const at = step === null ? last : countUpTo(steps, step) - 1;
  const next = Math.min(last, Math.max(0, at + by));
  choice.setStep(id, next >= last ? null : (steps[next] ?? null));
}

import type { Problem } from '../../api/types';
import { formatExact, formatStep, plural } from '../../base/format';
import type { CardNote, TagCard } from '../card';
import type { CardWall } from '../card-wall.svelte';
import type { StepChoice } from './choice';
import type { StepLoader } from './loader.svelte';
import { mergeSteps, type RunSteps } from './steps';

/** The steps of one card: which there are, which is looked at, and what is said of them. */
export class CardSteps {
  readonly #wall: CardWall<TagCard>;
  readonly #loader: StepLoader;
  readonly #choice: StepChoice;
  readonly #card: () => TagCard;

  /** Those of each run that is shown; undefined: not known yet. */
  readonly series = $derived.by((): readonly RunSteps[] | undefined =>
    this.#loader.find(this.#card().tag),
  );
  /** Of all runs, sorted, each once. */
  readonly all = $derived.by(() => mergeSteps(this.series ?? []));
  /** null: at the last. */
  readonly step = $derived.by(() => this.#choice.of(this.#card().id));
  readonly problem = $derived.by((): Problem | null => this.#loader.problemOf(this.#card().tag));
  /** Whether the card has a slider of its own. */
  readonly isAlone = $derived.by(() => !this.#choice.linked.value && this.all.length > 1);
  readonly note = $derived.by((): string | CardNote => this.#tell());

  /** To be made where effects live. */
  constructor(
    wall: CardWall<TagCard>,
    loader: StepLoader,
    choice: StepChoice,
    card: () => TagCard,
  ) {
    this.#wall = wall;
    this.#loader = loader;
    this.#choice = choice;
    this.#card = card;
    $effect(() => loader.want(card().tag));
  }

  goTo(step: number | null): void {
    this.#choice.set(this.#card().id, step);
  }

  retry(): void {
    this.#loader.retry(this.#card().tag);
  }

  #tell(): string | CardNote {
    const last = this.all.at(-1);
    if (last === undefined) return '';
    const { count, overwritten } = this.#card().row;
    const carried = (this.series ?? []).reduce((sum, { step }) => sum + step.length, 0);
    if (this.#wall.context.isStatic && carried < count - overwritten) {
      const logged = plural(count - overwritten, 'step', formatExact);
      return { text: `${formatExact(carried)} of ${logged} in this copy`, always: true };
    }
    return `${plural(this.all.length, 'step', formatExact)}, the last is ${formatStep(last)}`;
  }
}

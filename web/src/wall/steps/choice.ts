import { flag, optionalNumber } from '../../base/codec';
import type { Address, Param } from '../../plugin/context';
import { type ByCard, byCard, FOR_NONE, withCard } from '../by-card';

const steps = byCard<number>(
  1,
  ([text = '']) => optionalNumber.parse(text),
  (step) => [String(step)],
);

/** At which step cards are looked at: all at one, or each at its own. */
export class StepChoice {
  readonly linked: Param<boolean>;
  readonly #step: Param<number | null>;
  readonly #steps: Param<ByCard<number>>;

  constructor(address: Address) {
    this.linked = address.param('link', flag, true);
    this.#step = address.param('step', optionalNumber, null);
    this.#steps = address.param('steps', steps, FOR_NONE);
  }

  /** The step of all cards that are linked; null: each at its last. */
  get shared(): number | null {
    return this.#step.value;
  }

  /** null: at the last, also when further ones come. */
  of(cardId: string): number | null {
    return this.linked.value ? this.shared : (this.#steps.value.get(cardId) ?? null);
  }

  set(cardId: string, step: number | null): void {
    if (this.linked.value) this.setShared(step);
    else this.#steps.set(withCard(this.#steps.value, cardId, step));
  }

  setShared(step: number | null): void {
    this.#step.set(step);
  }

  /** What was chosen card by card is forgotten, so that linking shows all at one step. */
  link(linked: boolean): void {
    this.linked.set(linked);
    if (linked) this.#steps.set(FOR_NONE);
  }
}

import type { Smoother, Smoothing } from '../../api/scalars';
import { choice, optionalNumber } from '../../base/codec';
import type { Address, Param } from '../../plugin/context';

export interface SmootherFacts {
  readonly label: string;
  /** What the amount counts. */
  readonly unit: string;
  /** At this amount nothing is smoothed. */
  readonly lowest: number;
  readonly highest: number;
  readonly usual: number;
  /** Where a slider ends; the box beside it takes more. */
  readonly far: number;
  readonly step: number;
}

export const SMOOTHERS: Readonly<Record<Smoother, SmootherFacts>> = {
  ema: {
    label: 'TensorBoard’s average',
    unit: 'weight of what was before, 0 to 0.999',
    lowest: 0,
    highest: 0.999,
    usual: 0.6,
    far: 0.999,
    step: 0.001,
  },
  time_ema: {
    label: 'Exponential by steps',
    unit: 'half-life in steps',
    lowest: 0,
    highest: 1e9,
    usual: 50,
    far: 1000,
    step: 1,
  },
  mean: {
    label: 'Running mean',
    unit: 'window in points',
    lowest: 1,
    highest: 100_000,
    usual: 21,
    far: 501,
    step: 2,
  },
  median: {
    label: 'Running median',
    unit: 'window in points',
    lowest: 1,
    highest: 10_000,
    usual: 21,
    far: 501,
    step: 2,
  },
  gaussian: {
    label: 'Gaussian',
    unit: 'sigma in points',
    lowest: 0,
    highest: 1000,
    usual: 5,
    far: 200,
    step: 0.5,
  },
};

/** How lines are smoothed. An amount means nothing to another smoother, so it goes with its own. */
export class SmoothingParam {
  readonly #kind: Param<Smoother>;
  readonly #amount: Param<number | null>;

  constructor(address: Address) {
    const kinds = Object.keys(SMOOTHERS) as Smoother[];
    this.#kind = address.param('smoother', choice(kinds, 'ema'), 'ema');
    this.#amount = address.param('smooth', optionalNumber, null);
  }

  get kind(): Smoother {
    return this.#kind.value;
  }

  get facts(): SmootherFacts {
    return SMOOTHERS[this.kind];
  }

  get amount(): number {
    const { lowest, highest, usual } = this.facts;
    return Math.min(highest, Math.max(lowest, this.#amount.value ?? usual));
  }

  /** null where lines are shown as they are. */
  get value(): Smoothing | null {
    const { kind, amount } = this;
    return amount <= this.facts.lowest ? null : { kind, amount };
  }

  setAmount(amount: number): void {
    this.#amount.set(amount === this.facts.usual ? null : amount);
  }

  setKind(kind: Smoother): void {
    this.#kind.set(kind);
    this.#amount.set(null);
  }
}

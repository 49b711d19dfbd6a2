import type { OpsAnswer } from './answers';

/** What was measured of an op in one capture. */
export interface Measured {
  readonly count: number;
  readonly total: number;
  readonly self: number;
  readonly longest: number;
}

/** An op, or all ops of a type, in the capture and in the one that it is compared with. */
export interface OpRow {
  readonly name: string;
  readonly type: string;
  readonly side: number;
  /** How many ops are in it, where it is all of a type. */
  readonly ops: number;
  readonly now: Measured;
  readonly before: Measured | null;
}

export type Grouping = 'type' | 'op';

const NOTHING: Measured = { count: 0, total: 0, self: 0, longest: -1 };

/** The ops of one side; those that only the other capture has took no time here. */
export function makeRows(
  one: OpsAnswer,
  other: OpsAnswer | null,
  side: number,
  grouping: Grouping,
  perStep: boolean,
): OpRow[] {
  const now = sumUp(one, side, grouping, perStep);
  const before = other && sumUp(other, side, grouping, perStep);
  const keys = new Set([...now.keys(), ...(before?.keys() ?? [])]);
  return Array.from(keys, (key) => {
    const known = now.get(key) ?? before?.get(key);
    return {
      name: known?.name ?? '',
      type: known?.type ?? '',
      side,
      ops: known?.ops ?? 0,
      now: now.get(key)?.measured ?? NOTHING,
      before: before && (before.get(key)?.measured ?? NOTHING),
    };
  });
}

interface Sum {
  readonly name: string;
  readonly type: string;
  ops: number;
  measured: Measured;
}

function sumUp(
  answer: OpsAnswer,
  side: number,
  grouping: Grouping,
  perStep: boolean,
): Map<string, Sum> {
  const steps = perStep ? Math.max(answer.steps, 1) : 1;
  const sums = new Map<string, Sum>();
  answer.names.forEach((name, at) => {
    if (answer.sides[at] !== side) return;
    const type = answer.types[at] ?? '';
    const key = grouping === 'type' ? type || name : `${type}\n${name}`;
    const known = sums.get(key);
    const own = measure(answer, at, steps);
    if (known) {
      known.ops += 1;
      known.measured = add(known.measured, own);
    } else {
      sums.set(key, { name: grouping === 'type' ? key : name, type, ops: 1, measured: own });
    }
  });
  return sums;
}

function measure(answer: OpsAnswer, at: number, steps: number): Measured {
  return {
    count: (answer.counts[at] ?? 0) / steps,
    total: (answer.total_ms[at] ?? 0) / steps,
    self: (answer.self_ms[at] ?? 0) / steps,
    longest: answer.longest[at] ?? -1,
  };
}

/** Ops come with those that took longest by themselves first, so the first one's event stays. */
function add(one: Measured, other: Measured): Measured {
  return {
    count: one.count + other.count,
    total: one.total + other.total,
    self: one.self + other.self,
    longest: one.longest,
  };
}

/** The sides on which anything ran, in the one capture or the other. */
export function findSides(one: OpsAnswer, other: OpsAnswer | null): number[] {
  const met = new Set([...one.sides, ...(other?.sides ?? [])]);
  return [0, 1, 2].filter((side) => met.has(side));
}

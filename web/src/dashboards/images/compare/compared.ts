import type { PartAbout } from '../../../api/images';
import { formatStep } from '../../../base/format';
import type { ShownRun } from '../../../plugin/context';
import type { Value } from '../data/value';

/** One of two pictures that are compared. */
export interface Compared {
  readonly value: Value;
  readonly about: PartAbout;
  readonly run: ShownRun;
}

export function nameOf({ run, value }: Compared): string {
  return `${run.label}, step ${formatStep(value.step)}`;
}

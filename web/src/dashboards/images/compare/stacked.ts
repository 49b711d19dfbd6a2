import type { Lie } from '../geometry/viewport';
import { shapeSize } from '../picture/parts';
import type { Compared } from './compared';

/** Where two pictures lie over each other: the second is made as wide as the first. */
export function liesOf(pair: readonly [Compared, Compared], lie: Lie): readonly [Lie, Lie] {
  const [one, other] = pair.map(({ about }) => shapeSize(about));
  const scale = one && other ? (lie.scale * one.width) / other.width : lie.scale;
  return [lie, { ...lie, scale }];
}

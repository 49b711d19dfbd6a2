import type { Line } from '../../../charts/types';
import { getStatLabel } from '../labels';

/** Return the line of a statistic; steps at which the tensor was not computed are gaps. */
export function makeStatLine(
  stat: string,
  step: Float64Array,
  value: Float32Array,
  color: string,
): Line {
  return {
    id: stat,
    label: getStatLabel(stat),
    color,
    dash: [],
    axis: 0,
    x: step,
    y: value,
  };
}

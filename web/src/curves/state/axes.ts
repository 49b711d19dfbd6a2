import type { XAxis } from '../../plugin/context';

export const AXIS_NAMES: Readonly<Record<string, string>> = {
  step: 'Step',
  relative: 'Relative',
  wall: 'Wall',
  relative_step: 'Relative step',
  index: 'Index of the point',
};

/** Tags that count epochs. */
export const EPOCH = /(^|[/_])epoch$/i;

export function axisName(axis: XAxis): string {
  return AXIS_NAMES[axis] ?? axis.replace(/^metric:/, '');
}

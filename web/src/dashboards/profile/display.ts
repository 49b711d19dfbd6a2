import type { Sentence } from '../../api/schemas';
import * as common from '../../catalog/common';
import * as m from '../../catalog/profile';
import { translate } from '../../i18n/messages';
import { RUN_COLORS } from '../../lib/colors';
import { formatBytes, formatCount, formatValue } from '../../lib/format';

export { formatMs, formatUs } from '../../lib/format';

// ---- Numbers

/** Format a fraction of 1 in percent. Only exact values are shown as 0% and 100%. */
export function formatPercent(share: number): string {
  const percent = 100 * share;
  if (percent > 0 && percent < 0.1) return common.percentTiny;
  if (percent < 100 && percent > 99.9) return common.percentNearlyAll;
  return common.percent({ value: formatValue(percent, 3) });
}

const MS_PER_S = 1000;

/** Format the rate of some operations in a time: `459 TFLOP/s`. */
export function formatFlopRate(flops: number, ms: number): string {
  const [, value = '', prefix = ''] =
    /^(.*?)([kMGTPE]?)$/.exec(formatCount((flops / ms) * MS_PER_S)) ?? [];
  return common.unitFlops({ value, prefix });
}

/** Format the rate of some bytes in a time: `3.4 TB/s`. */
export function formatBandwidth(bytes: number, ms: number): string {
  return common.unitBytesPerS({ bytes: formatBytes((bytes / ms) * MS_PER_S) });
}

// ---- Names

/** Return the name of a step; without one, it is the whole capture. */
export function formatStepName(name: string): string {
  return name || m.stepWholeCapture;
}

/** Translate sentences of the server into one paragraph. */
export function translateAll(sentences: readonly Sentence[]): string {
  return sentences
    .map(translate)
    .reduce((text, next) => (text === '' ? next : m.sentences({ text, next })), '');
}

export function getSideLabel(side: 'host' | 'device'): string {
  return side === 'host' ? m.sideHost : common.device;
}

/** TensorFlow puts this before every op of a compiled function. */
const FUNCTION_CALL_PREFIX = /^(StatefulPartitionedCall\/)+/;

export function shortenOpName(name: string): string {
  return name.replace(FUNCTION_CALL_PREFIX, '') || name;
}

/** Template arguments that say more about a kernel than the name of the template. */
const FUNCTOR_NAME = /(\w+(?:Functor|_kernel_cuda|_kernel_impl|ReduceOp|Ops?))\b/;

/** Templates of CUTLASS, of which all kernels are. Only the argument tells them apart. */
const CUTLASS_TEMPLATE = /^(Kernel2?|device_kernel)$/;

/**
 * Return the name of a kernel without return type, namespaces, template arguments and parameters:
 * `vectorized_elementwise_kernel · bfloat16_copy_kernel_cuda`.
 */
export function shortenKernelName(name: string): string {
  const bare = name.replace(/^void /, '').replaceAll('(anonymous namespace)::', '');
  const end = bare.search(/[<(]/);
  if (end < 0) return bare;
  const ownName = bare.slice(0, end).split('::').at(-1) ?? bare;
  if (bare[end] === '(') return ownName;
  if (CUTLASS_TEMPLATE.test(ownName)) {
    const argument = /^<([\w:]+)/.exec(bare.slice(end))?.[1]?.split('::').at(-1);
    return argument ?? ownName;
  }
  const functor = FUNCTOR_NAME.exec(bare.slice(end))?.[1];
  return functor && functor !== ownName ? `${ownName} · ${functor}` : ownName;
}

// ---- Colors

const [BLUE, ORANGE, GREEN, PINK, TEAL, RED, VIOLET, OCHRE] = RUN_COLORS;
const GRAY = '#8e8e9c';

/** Compute is blue, so that what delays it stands out. */
const PART_COLORS: Readonly<Record<string, string>> = {
  device_compute: BLUE,
  host_compute: TEAL,
  input: ORANGE,
  host_to_device: PINK,
  device_to_device: VIOLET,
  output: OCHRE,
  kernel_launch: RED,
  collectives: GREEN,
  compilation: '#e0559a',
};

export function getPartColor(name: string): string {
  return PART_COLORS[name] ?? GRAY;
}

export const HOST_COLOR = TEAL;
export const DEVICE_COLOR = BLUE;

import { RUN_COLORS } from '../../lib/colors';
import { formatBytes, formatCount, formatValue } from '../../lib/format';

export { formatMs, formatUs } from '../../lib/format';

/** A part of one: 86.8 %. Values next to nothing and next to all are told from 0 % and 100 %. */
export function formatPercent(share: number): string {
  const percent = 100 * share;
  if (percent > 0 && percent < 0.1) return '< 0.1 %';
  if (percent < 100 && percent > 99.9) return '> 99.9 %';
  return `${formatValue(percent, 3)} %`;
}

const MS_PER_S = 1000;

/** Operations in some milliseconds, as operations a second: 459 TFLOP/s. */
export function formatFlopRate(flops: number, ms: number): string {
  return formatCount((flops / ms) * MS_PER_S).replace(/([kMGTPE]?)$/, ' $1FLOP/s');
}

/** Bytes in some milliseconds, as bytes a second: 3.4 TB/s. */
export function formatBandwidth(bytes: number, ms: number): string {
  return `${formatBytes((bytes / ms) * MS_PER_S)}/s`;
}

/** What TensorFlow puts before every op of a compiled function, which tells nobody anything. */
const FUNCTION_CALL_PREFIX = /^(StatefulPartitionedCall\/)+/;

/** The name of an op as it is shown where there is little room. */
export function shortenOpName(name: string): string {
  return name.replace(FUNCTION_CALL_PREFIX, '') || name;
}

/** What of a template says what it does, where its own name does not. */
const FUNCTOR_NAME = /(\w+(?:Functor|_kernel_cuda|_kernel_impl|ReduceOp|Ops?))\b/;

/**
 * The name of a kernel as people know it: without what it returns, the namespaces it is in, its
 * types and what it is given. `vectorized_elementwise_kernel · bfloat16_copy_kernel_cuda`
 */
export function shortenKernelName(name: string): string {
  const bare = name.replace(/^void /, '').replaceAll('(anonymous namespace)::', '');
  const end = bare.search(/[<(]/);
  if (end < 0) return bare;
  const own = bare.slice(0, end).split('::').at(-1) ?? bare;
  if (bare[end] === '(') return own;
  const told = FUNCTOR_NAME.exec(bare.slice(end))?.[1];
  return told && told !== own ? `${own} · ${told}` : own;
}

const [BLUE, ORANGE, GREEN, PINK, TEAL, RED, VIOLET, OCHRE] = RUN_COLORS;
const GRAY = '#8e8e9c';

/** What the program is for is blue; what keeps it waiting stands out against that. */
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

import { formatBytes, formatCount } from '../../../base/format';

const MS_PER_S = 1000;

/** Operations in some milliseconds, as operations a second: 459 TFLOP/s. */
export function formatFlops(flops: number, ms: number): string {
  return formatCount((flops / ms) * MS_PER_S).replace(/([kMGTPE]?)$/, ' $1FLOP/s');
}

/** Bytes in some milliseconds, as bytes a second: 3.4 TB/s. */
export function formatBandwidth(bytes: number, ms: number): string {
  return `${formatBytes((bytes / ms) * MS_PER_S)}/s`;
}

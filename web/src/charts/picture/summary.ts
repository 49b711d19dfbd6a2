import { formatValue } from '../../base/format';
import type { Content } from '../axis/fit';
import type { Layout } from './layout';

/** A chart in a sentence. */
export function summarise(label: string, { lines, bands }: Content, { x, y }: Layout): string {
  const count = lines.length + bands.length;
  if (count === 0) return `${label}: no lines`;
  const [left, right] = [x.ticks[0]?.text ?? '', x.ticks.at(-1)?.text ?? ''];
  const [low, high] = y.scale.domain;
  const span = `${formatValue(low)} to ${formatValue(high)}`;
  return `${label}: ${count === 1 ? '1 line' : `${count} lines`}, ${left} to ${right} across, ${span} up`;
}

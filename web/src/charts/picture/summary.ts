import { formatValue, plural } from '../../base/format';
import type { Content } from '../axis/fit';
import { formatPlace } from '../axis/place';
import type { Layout } from './layout';

/** A chart in a sentence. */
export function summarise(label: string, { lines, bands }: Content, layout: Layout): string {
  const count = lines.length + bands.length;
  if (count === 0) return `${label}: no lines`;
  const across = layout.x.scale.domain.map((end) => formatPlace(end, layout.format)).join(' to ');
  const up = layout.y.scale.domain.map((end) => formatValue(end)).join(' to ');
  return `${label}: ${plural(count, 'line')}, ${across} across, ${up} up`;
}

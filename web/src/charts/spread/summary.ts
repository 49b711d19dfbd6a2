import { formatValue, plural } from '../../base/format';
import { formatPlace } from '../axis/place';
import type { PanelSet } from './panels';
import { isBands, type SpreadContent, type SpreadView } from './types';

/** A chart in a sentence. */
export function summariseSpread(
  label: string,
  { spreads }: SpreadContent,
  { ends }: PanelSet,
  { mode, format }: SpreadView,
): string {
  const count = spreads.reduce((sum, { x }) => sum + x.length, 0);
  const what = isBands(mode) ? 'distribution' : 'histogram';
  if (count === 0) return `${label}: no ${what}s`;
  const runs = plural(spreads.length, 'run');
  const steps = ends.steps.map((end) => formatPlace(end, format)).join(' to ');
  const values = ends.values.map((end) => formatValue(end)).join(' to ');
  return `${label}: ${plural(count, what)} of ${runs}, ${steps}, values ${values}`;
}

import type { HParamColumn } from '../../../api/runcolumns';
import {
  formatCount,
  formatDuration,
  formatExact,
  formatMoment,
  formatSince,
  formatValue,
} from '../../../base/format';
import type { Value } from '../../../base/expression/compile';

/** What stands in a cell, and the whole of it for who hovers. */
export interface CellText {
  readonly text: string;
  readonly title: string;
}

const EMPTY: CellText = { text: '', title: '' };

export function textOfCell(key: string, value: Value, now: Date): CellText {
  if (value === null) return EMPTY;
  if (typeof value === 'object') return same(value.join(', '));
  if (typeof value !== 'number') return same(String(value));
  switch (key) {
    case 'start':
      return textOfTime(new Date(value * 1000), now);
    case 'duration':
      return { text: formatDuration(value), title: `${value.toFixed(1)} s` };
    case 'points':
    case 'tags':
      return { text: formatCount(value), title: `${formatExact(value)} ${key}` };
    default:
      return { text: formatValue(value), title: String(value) };
  }
}

/** Texts are read from the left, numbers are compared by their last digit. */
export function isTextColumn(key: string, hparams: readonly HParamColumn[]): boolean {
  if (!key.startsWith('hparam:')) return key === 'note' || key === 'labels';
  const hparam = hparams.find(({ name }) => name === key.slice('hparam:'.length));
  return hparam !== undefined && hparam.type !== 'number';
}

const SUMMARIES: Readonly<Record<string, string>> = {
  last: 'Last value of',
  min: 'Lowest value of',
  max: 'Highest value of',
  hparam: 'Hyperparameter',
};

/** The heading of a column, short and in full. */
export function titleOfColumn(key: string): CellText {
  const at = key.indexOf(':');
  if (at < 0) return { text: key, title: key };
  const [kind, name] = [key.slice(0, at), key.slice(at + 1)];
  const text = kind === 'min' || kind === 'max' ? `${kind} ${name}` : name;
  return { text, title: `${SUMMARIES[kind] ?? kind} ${name}` };
}

/** A writer may have put down a time that is none. */
function textOfTime(at: Date, now: Date): CellText {
  if (Number.isNaN(at.getTime())) return EMPTY;
  return { text: formatSince(at, now), title: formatMoment(at) };
}

function same(text: string): CellText {
  return { text, title: text };
}

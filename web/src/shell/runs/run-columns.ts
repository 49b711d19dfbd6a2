import type { HParamColumn } from '../../api/client';
import type { Option, OptionGroup } from '../../components/combobox-options';
import type { FieldValue } from '../../lib/filter-expression';
import {
  formatAgoOrDate,
  formatCount,
  formatDateTime,
  formatDuration,
  formatInteger,
  formatPlural,
  formatValue,
} from '../../lib/format';
import { getPathDepth, getPathPart } from '../../lib/grouping';
import { columnValues } from '../../state/runs/run-columns.svelte';
import { runEntries } from '../../state/runs/run-entries.svelte';

/** What stands in a cell, and the whole of it for who hovers. */
export interface CellText {
  readonly text: string;
  readonly title: string;
}

const EMPTY_CELL: CellText = { text: '', title: '' };

export function formatCell(key: string, value: FieldValue, now: Date): CellText {
  if (value === null) return EMPTY_CELL;
  if (typeof value === 'object') return sameText(value.join(', '));
  if (typeof value !== 'number') return sameText(String(value));
  switch (key) {
    case 'start':
      return formatTimeCell(new Date(value * 1000), now);
    case 'duration':
      return { text: formatDuration(value), title: `${value.toFixed(1)} s` };
    case 'points':
    case 'tags':
      return { text: formatCount(value), title: `${formatInteger(value)} ${key}` };
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

const SUMMARY_LABELS: Readonly<Record<string, string>> = {
  last: 'Last value of',
  min: 'Lowest value of',
  max: 'Highest value of',
  hparam: 'Hyperparameter',
};

/** The heading of a column, short and in full. */
export function columnTitle(key: string): CellText {
  const at = key.indexOf(':');
  if (at < 0) return { text: key, title: key };
  const [kind, name] = [key.slice(0, at), key.slice(at + 1)];
  const text = kind === 'min' || kind === 'max' ? `${kind} ${name}` : name;
  return { text, title: `${SUMMARY_LABELS[kind] ?? kind} ${name}` };
}

/** A writer may have put down a time that is none. */
function formatTimeCell(at: Date, now: Date): CellText {
  if (Number.isNaN(at.getTime())) return EMPTY_CELL;
  return { text: formatAgoOrDate(at, now), title: formatDateTime(at) };
}

function sameText(text: string): CellText {
  return { text, title: text };
}

const MAX_EXAMPLES = 4;

/** Everything that can be picked carries the key under which the address knows it. */
export function hparamOptions(isChosen: (key: string) => boolean): OptionGroup {
  return {
    title: 'Hyperparameters',
    options: columnValues.available.hparams.map(({ name, distinct }) =>
      columnOption(`hparam:${name}`, formatPlural(distinct, 'value'), isChosen),
    ),
  };
}

export function metricOptions(summary: string, isChosen: (key: string) => boolean): OptionGroup {
  return {
    title: 'Metrics',
    options: columnValues.available.metrics.map((tag) =>
      columnOption(`${summary}:${tag}`, '', isChosen, tag),
    ),
  };
}

/** The folders that the runs are in, from the outermost. */
export function pathOptions(isChosen: (key: string) => boolean): OptionGroup {
  const depth = getPathDepth(runEntries.all.map((entry) => entry.name));
  const options = Array.from({ length: depth }, (_, at) => {
    const key = `path:${at + 1}`;
    return columnOption(key, examplesOf(at + 1), isChosen, `Part ${at + 1} of the path`);
  });
  return { title: 'Path', options };
}

export function columnOption(
  key: string,
  hint: string,
  isChosen: (key: string) => boolean,
  label = columnTitle(key).text,
): Option {
  return { key, label, hint, title: hint ? `${label}: ${hint}` : label, selected: isChosen(key) };
}

function examplesOf(part: number): string {
  const examples = new Set<string>();
  for (const { name } of runEntries.all) {
    if (examples.size > MAX_EXAMPLES) return `${[...examples].join(', ')} …`;
    const example = getPathPart(name, part);
    if (example !== null) examples.add(example);
  }
  return [...examples].join(', ');
}

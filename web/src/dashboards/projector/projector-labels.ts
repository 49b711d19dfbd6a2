import type { Option, OptionGroup } from '../../components/combobox-options';
import { formatCount } from '../../lib/format';
import type { AUTO_SWITCHES, COLOR_SCALES, DistanceMetric, POINT_STYLES } from './projector-params';
import type { EmbeddingRow } from './schemas';

type OptionLabels<Words extends readonly string[]> = readonly (readonly [Words[number], string])[];

/** What the choices are called. */
export const METRIC_LABELS: Readonly<Record<DistanceMetric, string>> = {
  cosine: 'Cosine',
  euclidean: 'Euclidean',
  dot: 'Dot product',
};
export const POINT_STYLE_LABELS: OptionLabels<typeof POINT_STYLES> = [
  ['auto', 'Automatic'],
  ['points', 'Points'],
  ['pictures', 'Pictures'],
  ['labels', 'Labels'],
];
export const COLOR_SCALE_LABELS: OptionLabels<typeof COLOR_SCALES> = [
  ['auto', 'Automatic'],
  ['categories', 'Values'],
  ['gradient', 'Gradient'],
  ['diverging', 'Diverging'],
];
export const AUTO_SWITCH_LABELS: OptionLabels<typeof AUTO_SWITCHES> = [
  ['auto', 'Automatic'],
  ['on', 'On'],
  ['off', 'Off'],
];

/** As the server says what is wrong with a file, to be read beside other sentences. */
export function toSentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`;
}

/**
 * The notes as sentences, each once: several requests can fail with the same message, and Svelte
 * does not accept duplicate keys.
 */
export function listUniqueNotes(notes: readonly string[]): string[] {
  return [...new Set(notes.map(toSentence))];
}

/** How the log directory itself is called as a run. */
const ROOT_RUN = '.';

export type RunLabeler = (run: string) => string;

export function embeddingName(row: EmbeddingRow, labelOf: RunLabeler): string {
  const isOfRun = row.source === 'log' && row.run !== '' && row.run !== ROOT_RUN;
  return isOfRun ? `${labelOf(row.run)} · ${row.name}` : row.name;
}

/** Embeddings to choose from, by the runs that they are of. */
export function embeddingOptions(
  rows: readonly EmbeddingRow[],
  chosen: EmbeddingRow | undefined,
  labelOf: RunLabeler,
): OptionGroup[] {
  const byRun = new Map<string, Option[]>();
  for (const row of rows) {
    const title = row.source === 'upload' ? 'Your files' : optionGroupTitle(row.run, labelOf);
    const option = { key: row.id, label: embeddingName(row, labelOf), hint: embeddingSize(row) };
    const options = byRun.get(title) ?? [];
    options.push({ ...option, title: row.problem || row.file, selected: row.id === chosen?.id });
    byRun.set(title, options);
  }
  return [...byRun].map(([title, options]) => ({ title, options }));
}

function optionGroupTitle(run: string, labelOf: RunLabeler): string {
  return run === ROOT_RUN ? 'Log directory' : labelOf(run);
}

function embeddingSize({ problem, versions }: EmbeddingRow): string {
  const last = versions.at(-1);
  if (problem !== '') return 'cannot be read';
  return last && last.rows > 0 ? `${formatCount(last.rows)} × ${last.dimensions}` : '';
}

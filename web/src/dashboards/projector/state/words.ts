import type { DRAWINGS, Metric, SCALES, SWITCHES } from './params';

type Names<Words extends readonly string[]> = readonly (readonly [Words[number], string])[];

/** What the choices are called. */
export const METRIC_NAMES: Readonly<Record<Metric, string>> = {
  cosine: 'Cosine',
  euclidean: 'Euclidean',
  dot: 'Dot product',
};
export const DRAWING_NAMES: Names<typeof DRAWINGS> = [
  ['auto', 'Automatic'],
  ['points', 'Points'],
  ['pictures', 'Pictures'],
  ['labels', 'Labels'],
];
export const SCALE_NAMES: Names<typeof SCALES> = [
  ['auto', 'Automatic'],
  ['categories', 'Values'],
  ['gradient', 'Gradient'],
  ['diverging', 'Diverging'],
];
export const SWITCH_NAMES: Names<typeof SWITCHES> = [
  ['auto', 'Automatic'],
  ['on', 'On'],
  ['off', 'Off'],
];

/** As the server says what is wrong with a file, to be read beside other sentences. */
export function sentenceOf(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`;
}

/**
 * The notes as sentences, each once: several requests can fail with the same message, and Svelte
 * does not accept duplicate keys.
 */
export function listUniqueNotes(notes: readonly string[]): string[] {
  return [...new Set(notes.map(sentenceOf))];
}

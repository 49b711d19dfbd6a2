/** Colors of runs. Part of the first load, so it does without the color library of `colors.ts`. */

/**
 * Run colors, ordered so that neighbors are also distinguishable with color blindness. Each has a
 * contrast of 3:1 against the light and the dark background.
 */
export const RUN_COLORS = [
  '#5f8dd3',
  '#dd7900',
  '#2f9e5b',
  '#c2379a',
  '#3f8f8b',
  '#b0413e',
  '#7a5cc7',
  '#8a6d1a',
  '#e0559a',
  '#4d7c0f',
  '#5b6b82',
  '#b45309',
  '#1d74b8',
  '#e2604f',
  '#0d97a8',
  '#a06bd6',
  '#a98700',
  '#6f9a1f',
  '#c93060',
  '#2b7a5f',
  '#8f6650',
  '#4269d0',
  '#7f8a70',
  '#a35b91',
] as const;

/** The first colors, which differ most; a small log has only these. */
export const DISTINCT_COLORS: readonly string[] = RUN_COLORS.slice(0, 8);

const SPLIT_SUFFIX = /(?:^|[/_.-])(train|training|val|valid|validation|eval|evaluation|test)$/i;

const SPLIT_NAMES: readonly [RegExp, string][] = [
  [/^train/i, 'train'],
  [/^val/i, 'validation'],
  [/^eval/i, 'evaluation'],
  [/^test/i, 'test'],
];

/** Return which data a run is about by the end of its name: `train`, `validation`, …; or empty. */
export function getRunSplit(name: string): string {
  const suffix = SPLIT_SUFFIX.exec(name)?.[1] ?? '';
  return SPLIT_NAMES.find(([pattern]) => pattern.test(suffix))?.[1] ?? '';
}

/** Return the name of the experiment that a train or validation run belongs to. */
export function withoutSplit(name: string): string {
  return name.replace(SPLIT_SUFFIX, '');
}

/**
 * Return the default color of a run. It depends only on the name, so it is the same in every tab
 * and on every machine. Train and validation runs of an experiment share a color; names that differ
 * only in a number, as in a sweep, usually get different ones.
 */
export function getRunColor(name: string): string {
  const color = colorCache.get(name) ?? hashToColor(name);
  colorCache.set(name, color);
  return color;
}

let exportedColors: ReadonlyMap<string, string> | null = null;

/** Keep the colors of the log that a static export was made of, as it has only some of its runs. */
export function setExportedColors(colors: ReadonlyMap<string, string> | null): void {
  exportedColors = colors;
}

/**
 * Return colors for the runs of a log, oldest first. The first experiments, up to the number of
 * colors, get distinct ones, and the first few get those that differ most: the one that their name
 * gives, or the next free one. Later runs do not change the colors of earlier runs.
 * `tracklight/server/static_export.py` does the same for exports.
 */
export function assignRunColors(namesByAge: Iterable<string>): ReadonlyMap<string, string> {
  if (exportedColors) return exportedColors;
  const assigned = new Map<string, string>();
  const taken = new Set<string>();
  for (const name of namesByAge) {
    if (taken.size === RUN_COLORS.length) break;
    const experiment = withoutSplit(name);
    const color = assigned.get(experiment) ?? findFreeColor(name, taken);
    taken.add(color);
    assigned.set(experiment, color).set(name, color);
  }
  return assigned;
}

function findFreeColor(name: string, taken: ReadonlySet<string>): string {
  const pool = taken.size < DISTINCT_COLORS.length ? DISTINCT_COLORS : RUN_COLORS;
  const first = hashName(name) % pool.length;
  const round = [...pool.slice(first), ...pool.slice(0, first)];
  return round.find((color) => !taken.has(color)) ?? RUN_COLORS[0];
}

/** Hashing the names of 10,000 runs takes noticeable time. */
const colorCache = new Map<string, string>();

function hashToColor(name: string): string {
  return RUN_COLORS[hashName(name) % RUN_COLORS.length] ?? RUN_COLORS[0];
}

function hashName(name: string): number {
  let numbers = 0;
  const words = withoutSplit(name).replace(/\d+/g, (digits) => {
    numbers += hashDigits(digits);
    return '#';
  });
  return hashText(words) + numbers;
}

/**
 * Numbers below the number of colors count as themselves, so that 0, 1, 2, … differ. Larger ones
 * are split into digits of that base with different weights; without them, powers of two would
 * share two or three colors. Leading zeros count too: 0.3 and 0.03 differ in nothing else.
 */
function hashDigits(digits: string): number {
  const zeros = /^0+(?=\d)/.exec(digits)?.[0].length ?? 0;
  let weight = 5 * zeros;
  let rest = Number(digits.slice(-6));
  for (const factor of [1, 7, 5, 11]) {
    weight += factor * (rest % RUN_COLORS.length);
    rest = Math.floor(rest / RUN_COLORS.length);
  }
  return weight;
}

/**
 * Return whether a run evaluates a model. Its lines are dashed, so that runs of an experiment
 * differ in more than color.
 */
export function isEvaluationRun(name: string): boolean {
  return !['', 'train'].includes(getRunSplit(name));
}

/** FNV-1a, 32 bit. */
function hashText(text: string): number {
  let value = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) {
    value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  }
  return value >>> 0;
}

/** Stops of the color scale; like run colors, each is visible on both backgrounds. */
const COLOR_SCALE = ['#3f6fe0', '#7d62cf', '#b04fa5', '#cf4d66', '#d4652a', '#b98200'];

/** Return the color of a position from 0 to 1: blue to amber, safe for color blindness. */
export function interpolateColor(position: number): string {
  const scaled = Math.min(1, Math.max(0, position)) * (COLOR_SCALE.length - 1);
  const index = Math.min(COLOR_SCALE.length - 2, Math.floor(scaled));
  const share = scaled - index;
  const channels = [1, 3, 5].map((start) => {
    const [from, to] = [index, index + 1].map((stop) =>
      parseInt(COLOR_SCALE[stop]?.slice(start, start + 2) ?? '', 16),
    );
    const value = Math.round((from ?? 0) * (1 - share) + (to ?? 0) * share);
    return value.toString(16).padStart(2, '0');
  });
  return `#${channels.join('')}`;
}

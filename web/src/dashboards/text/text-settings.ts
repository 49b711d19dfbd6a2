import { perCardCodec } from '../../cards/grid-settings';
import { indexAtStep, type SortedSteps } from '../../cards/steps/step-series';
import { choice, type Codec, flag, list, text } from '../../lib/codecs';
import type { Context } from '../../plugin/context';

/** A text: what a run had logged by a step; null: its last. */
export interface TextRef {
  readonly run: string;
  readonly step: number | null;
}

export interface TextPair {
  readonly before: TextRef;
  readonly after: TextRef;
}

export const NO_PAIR: TextPair | null = null;

/** Written flat: run, step, run, step. */
export function textPairCodec(list: Codec<readonly string[]>): Codec<TextPair | null> {
  return {
    parse(text) {
      const [run, step, otherRun, otherStep] = list.parse(text);
      if (run === undefined || otherRun === undefined) return null;
      return {
        before: { run, step: parseStep(step) },
        after: { run: otherRun, step: parseStep(otherStep) },
      };
    },
    format: (pair) =>
      pair === null ? '' : list.format([pair.before, pair.after].flatMap(formatTextRef)),
  };
}

function formatTextRef({ run, step }: TextRef): string[] {
  return [run, step === null ? '' : String(step)];
}

function parseStep(text = ''): number | null {
  const step = text === '' ? NaN : Number(text);
  return Number.isFinite(step) ? step : null;
}

/** What somebody most likely wants to compare: two runs, or the last two texts of one. */
export function defaultTextPair(
  series: readonly SortedSteps[],
  step: number | null,
): TextPair | null {
  const [first, second] = series;
  if (!first) return null;
  if (second) return { before: { run: first.run, step }, after: { run: second.run, step } };
  const place = indexAtStep(first, step);
  const before = first.step[place - 1] ?? first.step[0] ?? null;
  return { before: { run: first.run, step: before }, after: { run: first.run, step } };
}

/** A text laid out, or as it was logged. */
export const TEXT_FORMATS = ['markdown', 'raw'] as const;
/** The texts at one step, or all there are. */
export const STEP_MODES = ['step', 'all'] as const;
/** How two texts stand to each other. */
export const DIFF_LAYOUTS = ['beside', 'unified'] as const;

export type TextFormat = (typeof TEXT_FORMATS)[number];
export type StepMode = (typeof STEP_MODES)[number];

export type TextSettings = ReturnType<typeof createTextSettings>;

/** How texts are looked at, beside what every wall has. */
export function createTextSettings({ url, preferences }: Pick<Context, 'url' | 'preferences'>) {
  return {
    format: url.param('form', choice(TEXT_FORMATS, 'markdown'), 'markdown'),
    stepMode: url.param('show', choice(STEP_MODES, 'step'), 'step'),
    query: url.param('q', text, ''),
    queryRegex: url.param('q-re', flag, false),
    queryCase: url.param('q-case', flag, false),
    /** Which table of an array of more than two dimensions a card shows: `0,2`. */
    slices: url.param('slice', slicesCodec, new Map()),
    /** Two texts of the card over all others that are compared. */
    comparedPair: url.param('diff', textPairCodec(list), NO_PAIR),
    changesOnly: url.param('diff-fold', flag, true),
    diffLayout: preferences.param('text-sides', choice(DIFF_LAYOUTS, 'beside'), 'beside'),
    wrapLines: preferences.param('text-wrap', flag, true),
  };
}

const slicesCodec = perCardCodec<string>(
  1,
  ([place = '']) => (/^\d+(,\d+)*$/.test(place) ? place : null),
  (place) => [place],
);

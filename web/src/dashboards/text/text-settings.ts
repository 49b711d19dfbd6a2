/** Settings of the Text dashboard in the URL and in the preferences, and the pair of compared texts. */
import { perCardCodec } from '../../cards/card-grid.svelte';
import { indexAtStep, type SortedSteps } from '../../cards/steps/step-selection.svelte';
import { choice, type Codec, flag, list, text } from '../../lib/codecs';
import type { Context } from '../../plugin/context';

/** The text of a run at a step; null is the last step. */
export interface TextRef {
  readonly run: string;
  readonly step: number | null;
}

export interface TextPair {
  readonly before: TextRef;
  readonly after: TextRef;
}

/** Writes a pair as `run,step,run,step`. */
export const textPairCodec: Codec<TextPair | null> = {
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

function formatTextRef({ run, step }: TextRef): string[] {
  return [run, step === null ? '' : String(step)];
}

function parseStep(text = ''): number | null {
  const step = text === '' ? NaN : Number(text);
  return Number.isFinite(step) ? step : null;
}

/** Return the texts to compare first: of two runs at the same step, or the last two of one run. */
export function defaultTextPair(
  series: readonly SortedSteps[],
  step: number | null,
): TextPair | null {
  const [first, second] = series;
  if (!first) return null;
  if (second) return { before: { run: first.run, step }, after: { run: second.run, step } };
  const position = indexAtStep(first, step);
  const before = first.step[position - 1] ?? first.step[0] ?? null;
  return { before: { run: first.run, step: before }, after: { run: first.run, step } };
}

const TEXT_FORMATS = ['markdown', 'raw'] as const;
/** The texts at one step, or of all steps. */
const STEP_MODES = ['step', 'all'] as const;
const DIFF_LAYOUTS = ['beside', 'unified'] as const;

export type TextSettings = ReturnType<typeof createTextSettings>;

/** Create the settings that other card grids do not have. */
export function createTextSettings({ url, preferences }: Pick<Context, 'url' | 'preferences'>) {
  return {
    format: url.param('text-format', choice(TEXT_FORMATS, 'markdown'), 'markdown'),
    stepMode: url.param('step-mode', choice(STEP_MODES, 'step'), 'step'),
    query: url.param('q', text, ''),
    queryRegex: url.param('q-regex', flag, false),
    queryCase: url.param('q-case', flag, false),
    /** Per card, the index into the leading dimensions of an array, such as `0,2`. */
    slices: url.param('slice', slicesCodec, new Map()),
    /** The two texts of the full-screen card that are compared. */
    comparedPair: url.param('text-compare', textPairCodec, null as TextPair | null),
    changesOnly: url.param('changes-only', flag, true),
    diffLayout: preferences.param('text-diff-layout', choice(DIFF_LAYOUTS, 'beside'), 'beside'),
    wrapLines: preferences.param('text-wrap', flag, true),
  };
}

const slicesCodec = perCardCodec<string>(
  1,
  ([slice = '']) => (/^\d+(,\d+)*$/.test(slice) ? slice : null),
  (slice) => [slice],
);

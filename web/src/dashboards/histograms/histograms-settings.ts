/** Settings of the Histograms and Distributions dashboards, and the options of their controls. */
import { createCardGridSettings, type PerCard, perCardCodec } from '../../cards/grid-settings';
import type { HistogramViewport } from '../../charts/histogram/histogram-model';
import type { NumberRange } from '../../charts/types';
import type { SelectOption } from '../../components/options';
import { choice, type Codec, flag, list, number } from '../../lib/codecs';
import type { Context } from '../../plugin/context';
import type { HistogramAxis } from '../../api/schemas';
import * as common from '../../catalog/common';
import * as m from '../../catalog/histograms';

export type HistogramStyle = 'offset' | 'overlay' | 'heat';
/** One chart per run, or all runs in one chart. */
export type DistributionLayout = 'bands' | 'together';

export const DEFAULT_CARD_WIDTH_PX = 340;
/** TensorBoard uses 30. Exports contain 120, from which the others are merged. */
export const BIN_COUNTS = [30, 60, 120] as const;

export type HistogramSettings = ReturnType<typeof createHistogramSettings>;

/** Create the settings. Both dashboards share them, so that switching keeps the view. */
export function createHistogramSettings({ url, preferences }: Context) {
  return {
    ...createCardGridSettings({ url, preferences }, 'histograms', DEFAULT_CARD_WIDTH_PX),
    x: url.param<HistogramAxis>('x', choice(['step', 'relative', 'wall'], 'step'), 'step'),
    style: url.param<HistogramStyle>(
      'histogram-mode',
      choice(['offset', 'overlay', 'heat'], 'offset'),
      'offset',
    ),
    layout: url.param<DistributionLayout>(
      'distribution-mode',
      choice(['bands', 'together'], 'bands'),
      'bands',
    ),
    /** Counts on a logarithmic scale. */
    logCounts: url.param('log-counts', flag, false),
    /** Values of the Distributions dashboard on a logarithmic scale. */
    logValues: url.param('log-values', flag, false),
    bins: url.param('bins', binCountCodec, 60),
    ignoreOutliers: url.param('outliers', flag, true),
    zooms: url.param('histogram-zoom', viewportsCodec, new Map()),
    /** Number of runs before the first that a card shows. */
    skips: url.param('first-run', skippedRunsCodec, new Map()),
    /** Cards that are shown as a table. */
    tables: url.param('histogram-table', list, []),
  };
}

const binCountCodec: Codec<number> = {
  parse: (text) => BIN_COUNTS.find((count) => String(count) === text) ?? 60,
  format: String,
};

const skippedRunsCodec: Codec<PerCard<number>> = perCardCodec(
  1,
  ([text = '']) => Math.max(0, Math.round(number(0).parse(text))) || null,
  (skip) => [String(skip)],
);

export const viewportsCodec: Codec<PerCard<HistogramViewport>> = perCardCodec(
  4,
  (texts) => {
    const [steps, values] = [0, 2].map((first) => parseRange(texts[first], texts[first + 1]));
    return steps || values ? { steps: steps ?? null, values: values ?? null } : null;
  },
  ({ steps, values }) => [...formatRange(steps), ...formatRange(values)],
);

function parseRange(low = '', high = ''): NumberRange | null {
  const [from, to] = [low, high].map((text) => (text.trim() === '' ? NaN : Number(text)));
  if (from === undefined || to === undefined || !(from < to)) return null;
  return Number.isFinite(from) && Number.isFinite(to) ? [from, to] : null;
}

/** Format a range with as many digits as any chart can show. */
function formatRange(range: NumberRange | null): readonly string[] {
  return range ? range.map((end) => String(Number(end.toPrecision(12)))) : ['', ''];
}

export const STYLE_OPTIONS: readonly SelectOption<HistogramStyle>[] = [
  { value: 'offset', label: m.modeOffset },
  { value: 'overlay', label: m.modeOverlay },
  { value: 'heat', label: m.modeHeatMap },
];

export const LAYOUT_OPTIONS: readonly SelectOption<DistributionLayout>[] = [
  { value: 'bands', label: common.sideBySide },
  { value: 'together', label: m.distributionsLayoutOverlaid },
];

export const AXIS_OPTIONS: readonly SelectOption<HistogramAxis>[] = [
  { value: 'step', label: common.step },
  { value: 'relative', label: common.axisRelative },
  { value: 'wall', label: common.axisWallTime },
];

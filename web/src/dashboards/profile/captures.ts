import type {
  CaptureRequest,
  CaptureRow,
  EvidenceRow,
  Finding,
  StepRules,
  ThresholdRow,
} from '../../api/schemas';
import * as common from '../../catalog/common';
import * as m from '../../catalog/profile';
import { groupOptions, type Option, type OptionGroup } from '../../components/options';
import * as codec from '../../lib/codecs';
import { formatBytes, formatDateTime, formatStep } from '../../lib/format';
import type { Context } from '../../plugin/context';
import { EMPTY_SELECTION, selectionCodec } from './trace/timeline/timeline-layout';

// ---- URL parameters and requests

const STEP_RULES = ['ours', 'xprof'] as const satisfies readonly StepRules[];
const DEFAULT_STEP_RULES: StepRules = 'ours';
const COLOR_MODES = ['name', 'track'] as const;

export type ProfileParams = ReturnType<typeof openProfileParams>;

/** A place in the trace that a tool links to. */
export interface TraceLocation {
  readonly event: number | null;
  /** Start and end in microseconds since the start of the trace. */
  readonly span: readonly [number, number] | null;
  /** A search of the whole trace. */
  readonly query: string;
  /** Mark all rows of the SQL query. */
  readonly marksRows: boolean;
}

const trackIdsCodec: codec.Codec<readonly number[]> = {
  parse: (text) => text.split('.').map(Number).filter(Number.isInteger),
  format: (ids) => ids.join('.'),
};

export function openProfileParams({ url }: Pick<Context, 'url'>) {
  return {
    capture: url.param('capture', codec.text, ''),
    /** Id of the baseline capture. */
    baseline: url.param('p-baseline', codec.text, ''),
    host: url.param('p-host', codec.text, ''),
    /** Name of the events that mark steps; empty: detected. */
    marker: url.param('p-marker', codec.text, ''),
    rules: url.param('p-rules', codec.choice(STEP_RULES, DEFAULT_STEP_RULES), DEFAULT_STEP_RULES),
    /** Thresholds of findings that are not the defaults: `input:10,host:30`. */
    thresholds: url.param('p-thresholds', codec.text, ''),
    tool: url.param('tool', codec.text, 'overview'),
    event: url.param('p-event', codec.optionalNumber, null),
    /** Start and end in microseconds. */
    span: url.param('p-span', codec.range, null),
    find: url.param('p-find', codec.text, ''),
    findRegex: url.param('p-find-regex', codec.flag, false),
    findArguments: url.param('p-find-arguments', codec.flag, false),
    pinned: url.param('p-trace-pinned', trackIdsCodec, []),
    hidden: url.param('p-trace-hidden', trackIdsCodec, []),
    /** The first of the tracks that are not pinned; the rest is in the default order. */
    order: url.param('p-trace-order', trackIdsCodec, []),
    /** Tracks that are expanded or collapsed, unlike the default. */
    toggled: url.param('p-trace-toggled', trackIdsCodec, []),
    /** Start and end in microseconds. */
    measured: url.param('p-trace-measured', codec.range, null),
    /** Several events, as opposed to the one that is shown in detail. */
    selection: url.param('p-trace-selection', selectionCodec, EMPTY_SELECTION),
    /** The SQL query that was run. */
    sql: url.param('p-sql', codec.text, ''),
    /** Whether the rows of the SQL query are marked in the trace. */
    marksRows: url.param('p-trace-rows', codec.flag, false),
    colorBy: url.param('p-trace-color', codec.choice(COLOR_MODES, 'name'), 'name'),
    showsCounters: url.param('p-trace-counters', codec.flag, false),
    showsFlows: url.param('p-trace-arrows', codec.flag, false),
  };
}

/** Leave out fields with default values: a static export stores responses by URL. */
export function makeCaptureRequest(request: CaptureRequest): CaptureRequest {
  const fields = Object.entries(request) as [string, unknown][];
  const isDefault = (value: unknown): boolean =>
    value === '' || value === null || value === DEFAULT_STEP_RULES;
  const rest = Object.fromEntries(fields.filter(([, value]) => !isDefault(value)));
  return { ...rest, capture: request.capture };
}

// ---- Findings

/** Return the thresholds that are not the defaults, as in the URL: `input:10,host:30`. */
export function formatThresholds(rows: readonly ThresholdRow[]): string {
  return rows
    .filter((row) => row.percent !== row.default)
    .map(({ name, percent }) => `${name}:${percent}`)
    .join(',');
}

/** Return the thresholds with one of them changed; null resets it. */
export function setThreshold(
  rows: readonly ThresholdRow[],
  name: string,
  percent: number | null,
): string {
  const change = (row: ThresholdRow): ThresholdRow =>
    row.name === name
      ? { ...row, percent: percent === null ? row.default : Math.min(100, Math.max(0, percent)) }
      : row;
  return formatThresholds(rows.map(change));
}

const PS_PER_US = 1e6;
/** Margin on both sides of an event, as a multiple of its duration. */
const EVENT_MARGIN = 2;

type SpanUs = readonly [number, number];

/** Return the step with the longest event of a finding, in microseconds. */
export function getFindingSpan({
  start_ps,
  end_ps,
}: Pick<Finding, 'start_ps' | 'end_ps'>): SpanUs | null {
  return end_ps > start_ps ? [start_ps / PS_PER_US, end_ps / PS_PER_US] : null;
}

/** Return an event with a margin, in microseconds. */
export function getSpanAroundEvent({
  start_ps,
  duration_ps,
}: Pick<EvidenceRow, 'start_ps' | 'duration_ps'>): SpanUs {
  const margin = Math.max(duration_ps * EVENT_MARGIN, PS_PER_US);
  const end = start_ps + duration_ps + margin;
  return [Math.max(0, (start_ps - margin) / PS_PER_US), end / PS_PER_US];
}

// ---- Labels

export type GetRunLabel = (run: string) => string;

/**
 * Return the run of a capture and, if it has several captures, the step or the time. An uploaded
 * capture has no run.
 */
export function getCaptureLabel(
  row: CaptureRow,
  rows: readonly CaptureRow[],
  getRunLabel: GetRunLabel,
): string {
  if (row.run === '') return row.session;
  const run = getRunLabel(row.run) || '.';
  const siblings = rows.filter((other) => other.run === row.run);
  if (siblings.length < 2) return run;
  const isUnique = siblings.filter(({ step }) => step === row.step).length === 1;
  const place =
    row.step === null || !isUnique ? row.title : m.captureStep({ step: formatStep(row.step) });
  return m.captureName({ run, place });
}

/** Return captures as options, grouped by run. */
export function makeCaptureOptions(
  rows: readonly CaptureRow[],
  selected: CaptureRow | undefined,
  getRunLabel: GetRunLabel,
): OptionGroup[] {
  return groupOptions(
    rows,
    ({ run }) => (run === '' ? common.uploadedFiles : getRunLabel(run) || '.'),
    (row) => makeCaptureOption(row, getCaptureLabel(row, rows, getRunLabel), row === selected),
  );
}

function makeCaptureOption(row: CaptureRow, label: string, selected: boolean): Option {
  const bytes = formatBytes(row.bytes);
  const moment = formatDateTime(new Date(row.wall_s * 1000));
  const title = m.captureOptionTitle({ session: row.session, bytes, moment });
  return { key: row.id, label, hint: bytes, title, selected };
}

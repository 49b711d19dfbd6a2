import { groupOptions, type Option, type OptionGroup } from '../../components/combobox-options';
import * as codec from '../../lib/codecs';
import { formatBytes, formatDateTime, formatStep } from '../../lib/format';
import type { Context } from '../../plugin/context';
import type { CaptureRow, EvidenceRow, Finding, ThresholdRow } from './schemas';

const STEP_RULES = ['ours', 'xprof'] as const;
export type StepRules = (typeof STEP_RULES)[number];
export const DEFAULT_STEP_RULES: StepRules = 'ours';
export type ProfileParams = ReturnType<typeof openProfileParams>;

/** What of a trace is looked at; tools link to it, the trace viewer reads it. */
export interface TraceLocation {
  /** Which event of the trace. */
  readonly event: number | null;
  /** From where to where, in microseconds since the trace began. */
  readonly span: readonly [number, number] | null;
  /** What is looked for in the whole trace. */
  readonly query: string;
}

/** All that decides which capture is looked at, and by which tool. */
export function openProfileParams({ url }: Pick<Context, 'url'>) {
  return {
    capture: url.param('capture', codec.text, ''),
    /** The capture that it is compared with. */
    before: url.param('before', codec.text, ''),
    host: url.param('p-host', codec.text, ''),
    /** The name of the events that somebody took for marks of steps. */
    marker: url.param('p-marker', codec.text, ''),
    /** Whose rules steps and their parts are found by. */
    rules: url.param('p-rules', codec.choice(STEP_RULES, DEFAULT_STEP_RULES), DEFAULT_STEP_RULES),
    /** From which percent of a step on things are told, where that is not as usual. */
    thresholds: url.param('p-thresholds', codec.text, ''),
    tool: url.param('tool', codec.text, 'overview'),
    event: url.param('p-event', codec.optionalNumber, null),
    span: url.param('p-span', codec.range, null),
    find: url.param('p-find', codec.text, ''),
    findRegex: url.param('p-find-regex', codec.flag, false),
    findArguments: url.param('p-find-arguments', codec.flag, false),
  };
}

/** Which trace is asked about, and how its steps are found. */
export interface CaptureRequest {
  readonly capture: string;
  readonly host: string;
  readonly marker: string;
  /** Whose rules steps and their parts are found by. */
  readonly rules: StepRules;
  /** Thresholds that are not as usual. */
  readonly thresholds: string;
  /** Changes when the files do; an answer to a question with a mark never changes. */
  readonly mark: number | null;
}

export type RequestFields = Readonly<Record<string, string | number | boolean | null>>;

/** The question as an address. What is usual is left out, so that a copy knows it by one name. */
export function makeRequestPath(
  path: string,
  ask: CaptureRequest,
  more: RequestFields = {},
): string {
  const query = new URLSearchParams();
  for (const [name, value] of listNonDefault({ ...ask, ...more })) query.set(name, String(value));
  return `${path}?${query}`;
}

/** The question as JSON, where it is too long for an address. */
export function makeRequestBody(ask: CaptureRequest, more: object = {}): object {
  return { ...Object.fromEntries(listNonDefault({ ...ask })), ...more };
}

const DEFAULT_VALUES: readonly unknown[] = ['', null, DEFAULT_STEP_RULES];

function listNonDefault(fields: RequestFields): [string, RequestFields[string]][] {
  return Object.entries(fields).filter(([, value]) => !DEFAULT_VALUES.includes(value));
}

/** Thresholds as the address and the server have them: those that are not as usual, in percent. */
export function formatThresholds(rows: readonly ThresholdRow[]): string {
  return rows
    .filter(({ percent, usual }) => percent !== usual)
    .map(({ name, percent }) => `${name}:${percent}`)
    .join(',');
}

/** The same with one of them changed; without a number it is as usual again. */
export function setThreshold(
  rows: readonly ThresholdRow[],
  name: string,
  percent: number | null,
): string {
  const change = (row: ThresholdRow): ThresholdRow =>
    row.name === name
      ? { ...row, percent: percent === null ? row.usual : Math.min(100, Math.max(0, percent)) }
      : row;
  return formatThresholds(rows.map(change));
}

const PS_PER_US = 1e6;
/** How much of what is around an event is seen with it, in its own length. */
const CONTEXT_FACTOR = 2;

type SpanUs = readonly [number, number];

/** The window in which the events of a finding are seen, in microseconds. */
export function getFindingSpan({
  start_ps,
  end_ps,
}: Pick<Finding, 'start_ps' | 'end_ps'>): SpanUs | null {
  return end_ps > start_ps ? [start_ps / PS_PER_US, end_ps / PS_PER_US] : null;
}

/** A window around one event, in microseconds. */
export function getSpanAroundEvent({ start_ps, duration_ps }: EvidenceRow): SpanUs {
  const room = Math.max(duration_ps * CONTEXT_FACTOR, PS_PER_US);
  return [Math.max(0, (start_ps - room) / PS_PER_US), (start_ps + duration_ps + room) / PS_PER_US];
}

export type GetRunLabel = (run: string) => string;

/** The run of a capture, and which of its captures it is where there are several. */
export function getCaptureLabel(
  row: CaptureRow,
  rows: readonly CaptureRow[],
  labelOf: GetRunLabel,
): string {
  const run = labelOf(row.run) || '.';
  const siblings = rows.filter((other) => other.run === row.run);
  if (siblings.length < 2) return run;
  const isAlone = siblings.filter(({ step }) => step === row.step).length === 1;
  const place = row.step === null || !isAlone ? row.title : `step ${formatStep(row.step)}`;
  return `${run} · ${place}`;
}

/** Captures to choose from, by the runs that they are of. */
export function makeCaptureOptions(
  rows: readonly CaptureRow[],
  chosen: CaptureRow | undefined,
  labelOf: GetRunLabel,
): OptionGroup[] {
  return groupOptions(
    rows,
    ({ run }) => labelOf(run) || '.',
    (row) => makeCaptureOption(row, getCaptureLabel(row, rows, labelOf), row.id === chosen?.id),
  );
}

function makeCaptureOption(row: CaptureRow, label: string, chosen: boolean): Option {
  const { session, bytes, wall_s } = row;
  const title = `${session} · ${formatBytes(bytes)} · ${formatDateTime(new Date(wall_s * 1000))}`;
  return { key: row.id, label, hint: formatBytes(bytes), title, selected: chosen };
}

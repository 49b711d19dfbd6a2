import type { DumpDifferenceRow, HealthAlert, RootCause, SourceLine } from '../../api/schemas';
import * as common from '../../catalog/common';
import * as m from '../../catalog/debugger';
import { translate } from '../../i18n/messages';
import { formatInteger } from '../../lib/format';
import type { DebuggerView, RoleFilter, Stat } from './debugger-state.svelte';

export type AlertKind = HealthAlert['kind'];

export const KIND_LABELS: Readonly<Record<AlertKind, string>> = {
  nan: common.nan,
  inf: m.kindInf,
  nan_or_inf: m.kindNanOrInf,
  overflow: m.kindOverflow,
  underflow: m.kindUnderflow,
  exploding_gradient: m.kindExplodingGradient,
  vanishing_gradient: m.kindVanishingGradient,
  dead_units: m.kindDeadUnits,
  constant_output: m.kindConstantOutput,
  loss_scale: m.kindLossScale,
  shape_change: m.kindShapeChange,
  retracing: m.kindRetracing,
};

export const KINDS = Object.keys(KIND_LABELS) as readonly AlertKind[];

export const VIEW_LABELS: Readonly<Record<DebuggerView, string>> = {
  problems: m.viewProblems,
  tensors: m.viewTensors,
  executions: m.viewExecutions,
  graph_executions: m.viewGraphExecutions,
  code: m.viewCode,
  compare: m.viewCompare,
};

export const STAT_LABELS: Readonly<Record<Stat, string>> = {
  norm: m.statNorm,
  max: m.statMax,
  min: m.statMin,
  mean: m.statMean,
  std: m.statStd,
  non_finite: m.statNonFinite,
  nan: m.statNan,
  neg_inf: m.statNegInf,
  pos_inf: m.statPosInf,
  zeros: m.statZeros,
  negatives: m.statNegatives,
  overflow: m.statOverflow,
  underflow: m.statUnderflow,
  dead: m.statDead,
};

/** Return the name of a statistic or of the loss scale. */
export function getStatLabel(stat: string): string {
  return stat === 'loss_scale' ? m.kindLossScale : (STAT_LABELS[stat as Stat] ?? stat);
}

const DIFFERENCE_LABELS: Readonly<Record<DumpDifferenceRow['kind'], string>> = {
  operation: m.operation,
  dtype: m.dtype,
  shape: m.shape,
  size: m.size,
  non_finite: m.health,
  nan: m.statNan,
  neg_inf: m.statNegInf,
  pos_inf: m.statPosInf,
  negative: m.statNegatives,
  zero: m.statZeros,
  positive: m.statPositives,
  value: m.value,
};

/** Return what differs between two tensors, such as `Shape` or `Value at [0, 3]`. */
export function getDifferenceLabel({
  kind,
  element,
}: Pick<DumpDifferenceRow, 'kind' | 'element'>): string {
  if (element === null || element.length === 0) return DIFFERENCE_LABELS[kind];
  return m.valueAt({ position: `[${element.join(', ')}]` });
}

/** Return one side of a difference as text. */
export function formatDifferenceSide(kind: DumpDifferenceRow['kind'], side: string): string {
  if (side === '') return m.notRecorded;
  if (kind === 'non_finite') return side === 'True' ? m.countsUnknown : m.finite;
  return side;
}

export const ROLE_FILTER_LABELS: Readonly<Record<RoleFilter, string>> = {
  all: common.all,
  output: m.rolesOutput,
  gradient: m.rolesGradient,
  parameter: m.rolesParameter,
  update: m.rolesUpdate,
};

const ROLE_LABELS: Readonly<Record<string, string>> = {
  input: m.roleInput,
  output: m.roleOutput,
  loss: m.roleLoss,
  gradient: m.roleGradient,
  parameter: m.roleParameter,
  update: m.roleUpdate,
};

export function getRoleLabel(role: string): string {
  return ROLE_LABELS[role] ?? role;
}

export function isNonFinite(kind: AlertKind): boolean {
  return kind === 'nan' || kind === 'inf' || kind === 'nan_or_inf';
}

/** Return the type and name of an operation, layer or tensor. */
export function getOpLabel(opType: string, opName: string): string {
  if (opType === '' || opType === opName) return m.opName({ name: opName });
  return opName === '' ? opType : m.opTypeAndName({ type: opType, name: opName });
}

interface NonFiniteCounts {
  readonly nan: number | null;
  readonly neg_inf: number | null;
  readonly pos_inf: number | null;
}

/** Return the counts of non-finite values that are not zero, with their names. */
export function listCounts({ nan, neg_inf, pos_inf }: NonFiniteCounts): string[] {
  const counts = [
    [nan, m.countNan],
    [neg_inf, m.countNegInf],
    [pos_inf, m.countPosInf],
  ] as const;
  return counts.flatMap(([count, message]) =>
    count ? [message({ count: formatInteger(count) })] : [],
  );
}

/** Return what is wrong, without the tensor: `3 −Inf of 320`. */
export function describeAlert(alert: HealthAlert): string {
  if (!isNonFinite(alert.kind)) {
    return translate({ code: alert.code, text: alert.message, args: alert.args });
  }
  const counts = listCounts(alert);
  if (counts.length === 0) return m.countsUnknown;
  if (alert.size === null) return counts.join(m.listSeparator);
  return m.countsOf({ counts: counts.join(m.listSeparator), size: formatInteger(alert.size) });
}

const CAUSE_MESSAGES: Readonly<Record<string, typeof m.causeOutput>> = {
  input: m.causeInput,
  gradient: m.causeGradient,
  parameter: m.causeParameter,
  update: m.causeUpdate,
};

/** Return one sentence on what went wrong first. */
export function describeRootCause(cause: RootCause): string {
  const op = getOpLabel(cause.op_type, cause.op_name);
  if (!isNonFinite(cause.kind)) {
    const detail = translate({ code: cause.code, text: cause.detail, args: cause.args });
    if (cause.kind === 'loss_scale') return detail;
    const kind = KIND_LABELS[cause.kind];
    return m.causeGradual({ kind, op, detail });
  }
  const message = CAUSE_MESSAGES[cause.role] ?? m.causeOutput;
  const counts = listCounts(cause);
  const what =
    counts.length === 0
      ? m.countsUnknown
      : m.countsOfValues({
          counts: counts.join(m.listSeparator),
          size: formatInteger(cause.size ?? 0),
        });
  return message({ op, what });
}

export function describeHint(cause: RootCause): string {
  return translate({ code: cause.hint_code, text: cause.hint, args: cause.hint_args });
}

/** Return the last part of a path. */
export function getFileName(path: string): string {
  return path.replaceAll('\\', '/').split('/').at(-1) ?? path;
}

/** Return a shape as `32 × 10`; unknown dimensions are `?`. */
export function formatShape(shape: readonly (number | null)[] | null): string {
  if (shape === null) return '';
  if (shape.length === 0) return m.scalar;
  return shape.map((size) => (size === null || size < 0 ? '?' : String(size))).join(' × ');
}

export type StackPart =
  | { readonly kind: 'frame'; readonly frame: SourceLine }
  | { readonly kind: 'folded'; readonly count: number };

/** Return a stack, innermost frame first, with frames of packages in a row folded into one part. */
export function foldFrames(frames: readonly SourceLine[], isUnfolded: boolean): StackPart[] {
  const parts: StackPart[] = [];
  for (const frame of [...frames].reverse()) {
    const last = parts.at(-1);
    if (isUnfolded || !frame.is_library) parts.push({ kind: 'frame', frame });
    else if (last?.kind === 'folded') parts[parts.length - 1] = { ...last, count: last.count + 1 };
    else parts.push({ kind: 'folded', count: 1 });
  }
  return parts;
}

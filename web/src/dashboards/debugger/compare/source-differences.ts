/** Texts about where two dumps or recordings first differ. */
import type {
  CompareDumpsResponse,
  CompareRecordingsResponse,
  DumpDifferenceRow,
} from '../../../api/schemas';
import * as m from '../../../catalog/debugger';
import { formatInteger, formatStep, formatValue } from '../../../lib/format';
import {
  formatDifferenceSide,
  getDifferenceLabel,
  getOpLabel,
  getRoleLabel,
  getStatLabel,
} from '../labels';
import type { Selection } from '../selection';

/** What the page says about two dumps or recordings. */
export interface SourceComparison {
  /** The first difference; null if there is none. */
  readonly difference: SourceDifference | null;
  readonly notes: readonly string[];
  /** Tensors that only one side has. */
  readonly onlyFirst: readonly string[];
  readonly onlySecond: readonly string[];
}

interface SourceDifference {
  readonly title: string;
  readonly rows: readonly (readonly [label: string, value: string])[];
  /** What the first and the second side have. */
  readonly values: readonly [string, string];
  /** Where it is in the first dump or recording. */
  readonly selection: Selection;
}

export function describeRecordings(data: CompareRecordingsResponse): SourceComparison {
  const difference = findRecordingDifference(data);
  const steps = data.shared_steps;
  const note = steps === 0 ? m.nothingShared : m.noDifference({ count: formatInteger(steps) });
  return {
    difference,
    notes: difference ? [] : [note],
    onlyFirst: data.only_first,
    onlySecond: data.only_second,
  };
}

function findRecordingDifference(data: CompareRecordingsResponse): SourceDifference | null {
  const { tensor, step, stat, first, second } = data;
  if (!tensor || step === null) return null;
  const format = (value: number | null): string => (value === null ? '' : formatValue(value, 6));
  return {
    title: m.differAt({ step: formatStep(step), op: getOpLabel(tensor.type, tensor.name) }),
    rows: [
      [m.tensor, `${tensor.name} (${getRoleLabel(tensor.role)})`],
      [m.statistic, getStatLabel(stat)],
    ],
    values: [format(first), format(second)],
    selection: { kind: 'tensor', index: tensor.tensor, step },
  };
}

export function describeDumps(data: CompareDumpsResponse): SourceComparison {
  const { difference, compared } = data;
  const note =
    compared === 0 ? m.nothingSharedDumps : m.noDumpDifference({ count: formatInteger(compared) });
  return {
    difference: difference && describeDumpDifference(difference),
    notes: [...(difference ? [] : [note]), ...(data.is_limited ? [m.comparisonLimited] : [])],
    onlyFirst: data.only_first,
    onlySecond: data.only_second,
  };
}

function describeDumpDifference(difference: DumpDifferenceRow): SourceDifference {
  const { event, index, op_type: type, op_name: name } = difference;
  return {
    title: m.differInOp({ op: getOpLabel(type, name) }),
    rows: [[m.difference, getDifferenceLabel(difference)]],
    values: [
      formatSide(difference, difference.first, index),
      formatSide(difference, difference.second, difference.other_index),
    ],
    selection: { kind: event, index },
  };
}

function formatSide({ event, kind }: DumpDifferenceRow, side: string, eventIndex: number): string {
  const index = formatInteger(eventIndex);
  return m.eventValue({
    value: formatDifferenceSide(kind, side),
    event: event === 'execution' ? m.executionNumber({ index }) : m.graphExecutionNumber({ index }),
  });
}

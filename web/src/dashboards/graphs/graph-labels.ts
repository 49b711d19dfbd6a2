/** Texts about graphs, nodes and edges. */
import type { ChangeName, GraphRow, OverlayRow, ScaleName, SearchHitRow } from '../../api/schemas';
import * as common from '../../catalog/common';
import * as m from '../../catalog/graphs';
import { groupOptions, type OptionGroup } from '../../components/options';
import { formatCount, formatValue } from '../../lib/format';
import { type EdgeStubs, type GraphEdge, type GraphNode, isExpandable } from './graph-model';

/** Join what is known; empty texts are left out. */
export function joinTexts(texts: readonly string[], separator = ' · '): string {
  return texts.filter((text) => text !== '').join(separator);
}

/** The accessible name of a node. */
export function describeNode(node: GraphNode): string {
  const content = isExpandable(node) ? m.countOps({ count: node.opCount }) : node.op;
  const parameters = node.parameters ? m.countParameters({ count: node.parameters }) : '';
  return joinTexts([node.label, content, node.shape, parameters, changeLabel(node.change)], ', ');
}

/** The second line of a node. */
export function getNodeSubtitle(node: GraphNode): string {
  if (node.kind === 'placeholder') return node.op;
  const { opCount, parameters } = node;
  const content = isExpandable(node)
    ? m.countOpsShort({ count: opCount, text: formatCount(opCount) })
    : node.op;
  const isRepeated = content.toLowerCase() === node.label.toLowerCase();
  return joinTexts([
    isRepeated ? '' : content,
    parameters ? m.countParamsShort({ count: parameters, text: formatCount(parameters) }) : '',
  ]);
}

const MAX_STUB_LABELS = 5;

/** The auxiliary nodes that are not drawn at the other ends of the edges of a node. */
export function listStubFields({ inputs, outputs }: EdgeStubs): [string, string][] {
  const describe = (labels: readonly string[]): string => {
    const more = labels.length - MAX_STUB_LABELS;
    const shown = labels.slice(0, MAX_STUB_LABELS);
    return joinTexts([...shown, more > 0 ? m.moreNodes({ count: more }) : ''], ', ');
  };
  const fields: [string, string][] = [
    [m.auxiliaryInputs, describe(inputs)],
    [m.auxiliaryOutputs, describe(outputs)],
  ];
  return fields.filter(([, text]) => text !== '');
}

/** The name of a column of uploaded data: that of the file, and of the column if it has several. */
export function getOverlayName(key: string, overlays: readonly OverlayRow[]): string {
  const separator = key.indexOf(':');
  const row = overlays.find(({ id }) => id === key.slice(0, separator));
  if (!row) return key;
  return joinTexts([row.name, row.columns.length > 1 ? key.slice(separator + 1) : '']);
}

/** Uploaded data of a node; the baseline is null if nothing is compared. */
export interface OverlayValue {
  readonly value: number | null;
  readonly baseline: number | null;
}

interface ShownOverlays {
  readonly overlays: readonly OverlayRow[];
  readonly overlay: string | null;
  readonly overlayBaseline: string | null;
}

/** The uploaded data of a node: one value, or two and their difference. */
export function listOverlayFields(
  found: OverlayValue | null,
  { overlays, overlay, overlayBaseline }: ShownOverlays,
): [string, string][] {
  if (!found || overlay === null) return [];
  const { value, baseline } = found;
  const format = (number: number | null): string => (number === null ? '' : formatValue(number));
  const own: [string, string] = [getOverlayName(overlay, overlays), format(value)];
  if (overlayBaseline === null) return [own];
  const difference = value === null || baseline === null ? null : value - baseline;
  return [
    own,
    [getOverlayName(overlayBaseline, overlays), format(baseline)],
    [m.dataDifference, format(difference)],
  ];
}

/** What an edge carries. */
export function describeEdge({ change, count, dtype, elementCount, ...edge }: GraphEdge): string {
  const changed = changeLabel(change);
  if (edge.isControl) return joinTexts([m.countControlDependencies({ count }), changed]);
  return joinTexts([
    dtype,
    edge.label,
    count > 1 ? m.countTensors({ count }) : '',
    elementCount === null
      ? ''
      : m.countElements({ count: elementCount, text: formatCount(elementCount) }),
    changed,
  ]);
}

export const CHANGE_LABELS: Readonly<Record<ChangeName, string>> = {
  added: m.changeAdded,
  removed: m.changeRemoved,
  changed: m.changeChanged,
  same: m.changeSame,
};

/** Empty for what did not change. */
export function changeLabel(change: ChangeName | null): string {
  return change === null || change === 'same' ? '' : CHANGE_LABELS[change];
}

/** The names of color scales. */
export const SCALE_LABELS: Readonly<Record<ScaleName | 'structure' | 'none', string>> = {
  change: common.change,
  structure: m.colorByStructure,
  op: m.fieldOp,
  device: common.device,
  cluster: m.colorByCluster,
  parameters: m.fieldParameters,
  time: m.fieldTime,
  memory: common.memory,
  tpu: m.colorByTpu,
  overlay: m.dataTitle,
  none: common.none,
};

const TPU_LABELS: Readonly<Record<string, string>> = {
  compatible: m.tpuCompatible,
  incompatible: m.tpuIncompatible,
};

/** The name of a category of a color scale. */
export function categoryLabel(scale: ScaleName, name: string): string {
  if (scale === 'change') return CHANGE_LABELS[name as ChangeName];
  if (scale === 'tpu') return TPU_LABELS[name] ?? name;
  return name || m.unnamed;
}

const DIFFERENCE_LABELS: Readonly<Record<string, string>> = {
  operation: m.fieldOp,
  inputs: m.traceInputs,
  outputs: m.traceOutputs,
  parameters: m.fieldParameters,
  device: common.device,
  source: m.fieldSourceLine,
};

/** The name of a property that differs between two graphs; attributes have no other name. */
export const differenceLabel = (property: string): string =>
  DIFFERENCE_LABELS[property] ?? property;

/** Why a search found a node. */
export function describeHit({ field, op, text }: SearchHitRow): string {
  switch (field) {
    case 'name':
      return op;
    case 'op':
      return m.searchMatchedInOp({ text });
    case 'attribute':
      return m.searchMatchedInAttribute({ text });
    case 'shape':
      return m.searchMatchedInShape({ text });
    case 'dtype':
      return m.searchMatchedInDtype({ text });
    case 'device':
      return m.searchMatchedInDevice({ text });
  }
}

const GRAPH_KIND_LABELS: Readonly<Record<GraphRow['kind'], string>> = {
  op: m.kindOp,
  profile: common.profile,
  conceptual: m.kindConceptual,
  upload: m.kindUpload,
};

export type RunLabeler = (run: string) => string;

/** TensorFlow logs the graph of a run without a tag; the server gives it this one. */
const RUN_GRAPH_TAG = '__run_graph__';

export function getGraphTitle({ tag, title }: GraphRow): string {
  return tag === RUN_GRAPH_TAG ? m.runGraph : title;
}

export function getGraphName(row: GraphRow, labelOf: RunLabeler): string {
  const title = getGraphTitle(row);
  return row.run === '' ? title : `${labelOf(row.run)} · ${title}`;
}

/** Options to select a graph, grouped by run. */
export function listGraphOptions(
  rows: readonly GraphRow[],
  selected: GraphRow | undefined,
  labelOf: RunLabeler,
  isEmpty: (id: string) => boolean,
): OptionGroup[] {
  return groupOptions(
    rows,
    ({ run }) => (run === '' ? common.uploadedFiles : labelOf(run)),
    (row) => ({
      key: row.id,
      label: getGraphName(row, labelOf),
      hint: isEmpty(row.id) ? m.kindEmpty : GRAPH_KIND_LABELS[row.kind],
      selected: row.id === selected?.id,
    }),
  );
}

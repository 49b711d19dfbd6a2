import type { Query } from '../../api/create-query.svelte';
import { defineQuery } from '../../api/query-definition';
import type {
  CombineMode,
  GraphRequest,
  GraphRow,
  GraphsResponse,
  OverlayRow,
} from '../../api/schemas';
import * as codec from '../../lib/codecs';
import type { Codec } from '../../lib/codecs';
import type { Context } from '../../plugin/context';
import type { ViewTransform } from './canvas/graph-viewport.svelte';
import type { Direction } from './layout/layout-types';

export const DIRECTIONS = ['down', 'right'] as const satisfies readonly Direction[];
export const TRACE_MODES = ['off', 'inputs', 'outputs', 'both'] as const;
export type TraceMode = (typeof TRACE_MODES)[number];
export const COMBINE_MODES = ['max', 'mean', 'sum'] as const satisfies readonly CombineMode[];
export type GraphParams = ReturnType<typeof createGraphParams>;

/** The point in the center of the canvas, and the zoom: `x,y,scale`. */
const viewCodec: Codec<ViewTransform | null> = {
  parse(text) {
    const [x, y, scale] = text.split(',').map(Number);
    const isValid = [x, y, scale].every((number) => Number.isFinite(number));
    return isValid && scale ? { x: x ?? 0, y: y ?? 0, scale } : null;
  },
  format: (value) =>
    value
      ? [Math.round(value.x), Math.round(value.y), Number(value.scale.toFixed(3))].join(',')
      : '',
};

/** The parameter for an empty list; no group can have this name. */
const ALL_COLLAPSED = '/';

/** Null means the default view. */
const openGroupsCodec: Codec<readonly string[] | null> = {
  parse: (text) => (text === ALL_COLLAPSED ? [] : codec.list.parse(text)),
  format(groups) {
    if (groups === null) return '';
    return groups.length === 0 ? ALL_COLLAPSED : codec.list.format(groups);
  },
};

/** The URL parameters of the dashboard; Back and Forward restore all of them. */
export function createGraphParams({ url, preferences }: Pick<Context, 'url' | 'preferences'>) {
  return {
    graph: url.param('graph', codec.text, ''),
    /** The graph to compare with. */
    other: url.param('graph-compare', codec.text, ''),
    step: url.param('graph-step', codec.optionalNumber, null),
    open: url.param('expanded', openGroupsCodec, null),
    node: url.param('node', codec.optionalText, null),
    /** The start of the shortest path to the selected node. */
    pathStart: url.param('path-from', codec.optionalText, null),
    trace: url.param('trace', codec.choice(TRACE_MODES, 'off'), 'off'),
    /** Empty for the first available scale. */
    colorBy: url.param('graph-color', codec.text, ''),
    profile: url.param('profile', codec.text, ''),
    /** The column of uploaded node data, as `id:column`; empty for the last file. */
    overlay: url.param('node-data', codec.text, ''),
    overlayBaseline: url.param('node-data-compare', codec.text, ''),
    combine: url.param('node-data-groups', codec.choice(COMBINE_MODES, 'max'), 'max'),
    direction: url.param('direction', codec.choice(DIRECTIONS, 'down'), 'down'),
    foldSeries: url.param('collapse-series', codec.flag, true),
    /** Groups whose auxiliary nodes are in the main graph. */
    expandedAuxiliary: url.param('show-auxiliary', codec.list, []),
    /** Nodes that the user moved into the main graph or out of it. */
    movedNodes: url.param('moved-nodes', codec.list, []),
    query: url.param('graph-search', codec.text, ''),
    view: url.param('graph-viewport', viewCodec, null),
    /** Closed by default on a phone, where it would cover half of the graph. */
    panel: preferences.param('graphs-panel', codec.flag, innerWidth > 900),
  };
}

const graphsQuery = defineQuery('GET graphs/list', { scope: 'log' });

/** At most this many empty graphs are skipped, as each takes a request. */
const MAX_SKIPPED = 20;

/** The graphs that can be opened, and which of them is shown or compared. */
export class GraphCatalog {
  readonly list: Query<GraphsResponse>;
  readonly #context: Context;
  readonly #params: GraphParams;
  /** Ids of graphs that were logged without nodes, as far as they were opened. */
  #emptyIds = $state.raw<ReadonlySet<string>>(new Set());

  constructor(context: Context, params: GraphParams) {
    this.#context = context;
    this.#params = params;
    this.list = context.query(graphsQuery, () => ({}));
  }

  get rows(): readonly GraphRow[] {
    return this.list.data?.graphs ?? [];
  }

  /** The graphs in the order in which they are opened by default: those of visible runs first. */
  readonly #candidates = $derived.by<readonly GraphRow[]>(() => {
    const ofVisibleRuns = this.#context.runs.visible.flatMap(({ name }) =>
      this.rows
        .filter((row) => row.run === name)
        .sort((one, other) => Number(isConceptual(other)) - Number(isConceptual(one))),
    );
    return ofVisibleRuns.length > 0 ? ofVisibleRuns : this.rows;
  });

  /** The graph in the URL, or the first one of a visible run that has nodes. */
  readonly current = $derived.by<GraphRow | undefined>(() => {
    const named = this.#find(this.#params.graph.value);
    if (named) return named;
    const first = this.#candidates.slice(0, MAX_SKIPPED + 1).find(({ id }) => !this.isEmpty(id));
    return first ?? this.#candidates[0];
  });

  /** The empty graphs before the current one, unless the user selected it. */
  readonly skipped = $derived.by<readonly GraphRow[]>(() => {
    const { current } = this;
    if (!current || this.#find(this.#params.graph.value)) return [];
    return this.#candidates.slice(0, this.#candidates.indexOf(current));
  });

  /** Return the name of a run as the list of runs shows it. */
  readonly getRunLabel = (run: string): string => this.#context.runs.find(run)?.label ?? run;

  /** Return whether a graph is known to have no nodes. */
  isEmpty(id: string): boolean {
    return this.#emptyIds.has(id);
  }

  markEmpty(id: string): void {
    this.#emptyIds = new Set([...this.#emptyIds, id]);
  }

  /** The graph to compare with. */
  readonly other = $derived.by<GraphRow | undefined>(() => this.#find(this.#params.other.value));

  /** Identifies the graph in requests: the selected step, or the comparison of two graphs. */
  readonly reference = $derived.by<GraphRequest | null>(() => {
    const { current, other } = this;
    if (!current) return null;
    if (other) return { id: `compare~${current.id}~${other.id}` };
    const selected = current.steps.find(({ index }) => index === this.#params.step.value);
    const { index, fingerprint } = selected ?? current.steps.at(-1) ?? {};
    return { id: current.id, index: index ?? null, fingerprint: fingerprint ?? null };
  });

  /** Changes when another graph is shown. */
  readonly referenceKey = $derived(JSON.stringify(this.reference));

  /** The tag with execution times and memory that is shown. */
  readonly profile = $derived.by<string | null>(() => {
    const profiles = this.current?.profiles ?? [];
    return profiles.find((tag) => tag === this.#params.profile.value) ?? profiles[0] ?? null;
  });

  get overlays(): readonly OverlayRow[] {
    return this.list.data?.overlays ?? [];
  }

  /** All columns of uploaded node data, as `id:column`. */
  readonly overlayColumns = $derived.by<readonly string[]>(() =>
    this.overlays.flatMap(({ id, columns }) => columns.map((column) => `${id}:${column}`)),
  );

  /** The column in the URL, or the first one of the last file; null if there is none. */
  readonly overlay = $derived.by<string | null>(() => {
    const last = this.overlays.at(-1);
    const first = last ? `${last.id}:${last.columns[0] ?? ''}` : null;
    return this.overlayColumns.find((key) => key === this.#params.overlay.value) ?? first;
  });

  /** The column that is subtracted. */
  readonly overlayBaseline = $derived.by<string | null>(
    () =>
      this.overlayColumns.find(
        (key) => key === this.#params.overlayBaseline.value && key !== this.overlay,
      ) ?? null,
  );

  /** Show a graph in its default view. */
  open(id: string): void {
    const params = this.#params;
    params.graph.set(id, 'push');
    if (params.other.value === id) params.other.set('');
    params.expandedAuxiliary.set([]);
    params.movedNodes.set([]);
    params.trace.set('off');
    params.query.set('');
    for (const param of [params.open, params.step, params.node, params.pathStart, params.view]) {
      param.set(null);
    }
  }

  compareWith(id: string): void {
    this.#params.other.set(id, 'push');
    this.#params.node.set(null);
    this.#params.view.set(null);
  }

  /** Open a model, or data of nodes for the graph that is shown. */
  async upload(file: File): Promise<void> {
    if (this.current && (await isNodeData(file))) return this.#uploadOverlay(file);
    const { queries } = this.#context;
    const row = await queries.mutate('POST graphs/upload', { name: file.name, body: file });
    const list = this.list.data ?? { cursor: '', graphs: [], overlays: [] };
    queries.set(graphsQuery, {}, { ...list, graphs: [...list.graphs, row] });
    // The server keeps a few uploads only: the oldest may be gone.
    queries.invalidate(graphsQuery);
    this.open(row.id);
  }

  async #uploadOverlay(file: File): Promise<void> {
    const { queries } = this.#context;
    const request = { name: file.name, body: file };
    const row = await queries.mutate('POST graphs/upload_overlay', request);
    const list = this.list.data ?? { cursor: '', graphs: [], overlays: [] };
    queries.set(graphsQuery, {}, { ...list, overlays: [...this.overlays, row] });
    // The server keeps some files only: the oldest may be gone.
    queries.invalidate(graphsQuery);
    this.#params.overlay.set(`${row.id}:${row.columns[0] ?? ''}`, 'push');
    this.#params.colorBy.set('overlay');
  }

  #find(id: string): GraphRow | undefined {
    return this.rows.find((row) => row.id === id);
  }
}

const isConceptual = ({ kind }: GraphRow): boolean => kind === 'conceptual';

/** Return whether a file has data of nodes: a table, or JSON that is not a Keras model. */
async function isNodeData(file: File): Promise<boolean> {
  if (/\.[ct]sv$/i.test(file.name)) return true;
  return /\.json$/i.test(file.name) && !isKerasModel(await file.text());
}

export function isKerasModel(text: string): boolean {
  try {
    const content: unknown = JSON.parse(text);
    return typeof content === 'object' && content !== null && 'config' in content
      ? typeof content.config === 'object'
      : false;
  } catch {
    return false;
  }
}

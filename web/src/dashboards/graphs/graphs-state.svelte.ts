import { createContext, untrack } from 'svelte';

import type { Context, Shortcut } from '../../plugin/context';
import type { DrawnEdge, Highlights } from './canvas/graph-drawing';
import { GraphViewport } from './canvas/graph-viewport.svelte';
import { NodeColoring } from './canvas/node-coloring.svelte';
import {
  BODY_SEPARATOR,
  type GraphNode,
  isExpandable,
  rangesTouchNode,
  toReadonlySet,
} from './graph-model';
import { createGraphParams, type GraphParams } from './graph-params';
import { createLayoutClient, type LayoutClient } from './layout/layout-client';
import {
  GraphCatalog,
  GroupsQuery,
  NodeDetailsQuery,
  NodeSearchQuery,
  PathTracing,
} from './query.svelte';
import { StaticGraphApi } from './static-graph-api';
import {
  AUXILIARY_SUFFIX,
  buildVisibleGroups,
  findHiddenReason,
  MORE_SUFFIX,
  type VisibilityOptions,
} from './visible-graph';

/** So long after the last move the address is told where the picture lies. */
const SAVE_VIEW_DELAY_MS = 400;

/** All that the parts of the view share. */
export class GraphsState {
  readonly context: Context;
  readonly params: GraphParams;
  readonly catalog: GraphCatalog;
  readonly groups: GroupsQuery;
  readonly viewport: GraphViewport;
  readonly tracing: PathTracing;
  readonly search: NodeSearchQuery;
  readonly coloring: NodeColoring;
  readonly details: NodeDetailsQuery;
  readonly highlights: GraphHighlights;
  /** The node under the pointer, or under that of a list. */
  hoveredNode = $state<string | null>(null);
  readonly #layoutClient: LayoutClient;
  /** The graph whose first picture was looked at. */
  #viewedGraph = '';
  /** A node to be brought onto the screen, with the groups around it. */
  #pendingNode: { readonly id: string; readonly around: readonly string[] } | null = null;
  #saveViewTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(context: Context) {
    const api = context.isStatic ? new StaticGraphApi(context.api) : context.api;
    this.context = context;
    this.params = createGraphParams(context);
    this.catalog = new GraphCatalog(context, this.params);
    this.groups = new GroupsQuery(api);
    this.#layoutClient = createLayoutClient(context.isStatic);
    this.viewport = new GraphViewport(this.#layoutClient);
    this.tracing = new PathTracing(api, this.params, this.catalog);
    this.search = new NodeSearchQuery(api, this.params, this.catalog);
    this.coloring = new NodeColoring(api, this.params, this.catalog, this.groups);
    this.details = new NodeDetailsQuery(api, this.params, this.catalog);
    this.highlights = new GraphHighlights(this);
  }

  readonly openGroups = $derived.by<readonly string[]>(() => this.params.open.value ?? []);

  readonly #openSet = $derived.by(() => toReadonlySet(this.openGroups));

  readonly #visibility = $derived.by<VisibilityOptions>(() => {
    const { expandedAuxiliary, movedNodes } = this.params;
    return {
      expandedAuxiliary: toReadonlySet(expandedAuxiliary.value),
      movedNodes: toReadonlySet(movedNodes.value),
    };
  });

  readonly visibleGroups = $derived.by(() =>
    buildVisibleGroups(this.groups.loaded, this.#openSet, this.#visibility),
  );

  readonly selectedNode = $derived.by(() => {
    const id = this.params.node.value;
    return id === null ? undefined : this.viewport.drawing.byId.get(id);
  });

  /** Keeps what is loaded and drawn in step with the address; to be called where effects live. */
  startEffects(): void {
    $effect(() => {
      this.context.live.getRevision(null);
      void untrack(() => this.catalog.load());
    });
    $effect(() => {
      void this.catalog.referenceKey;
      const fold = this.params.foldSeries.value;
      untrack(() => this.#openGraph(fold));
    });
    $effect(() => {
      const { openGroups } = this;
      if (this.groups.loaded.size > 0) void untrack(() => this.groups.loadMissing(openGroups));
    });
    $effect(() => {
      const [shown, flow] = [this.visibleGroups, this.params.direction.value];
      untrack(() => void this.#layOut(shown, flow));
    });
    $effect(() => this.#saveView());
    this.tracing.startEffects();
    this.search.startEffects();
    this.coloring.startEffects();
    this.details.startEffects();
    $effect(() => () => this.#stop());
  }

  /** What a pointer chooses is seen already; what keys lead to may have to be brought there. */
  select(id: string | null, reveals = false): void {
    this.params.node.set(id);
    if (id !== null && reveals) this.viewport.reveal(id);
  }

  /** What a click on a node means: it is chosen, or what it stands for is shown. */
  activate(id: string, opens = false): void {
    const node = this.#findNode(id);
    if (node?.kind === 'rest') this.#expandPlaceholder(id);
    else if (opens && node && isExpandable(node)) this.toggleGroup(id);
    else this.select(id);
  }

  isLeaf(id: string): boolean {
    const node = this.#findNode(id);
    return !node || !isExpandable(node);
  }

  /** Opens a group or closes it, which stays where it is on the screen. */
  toggleGroup(id: string): void {
    const node = this.#findNode(id);
    if (!node) return;
    const isOpen = node.bodies.some((body) => this.#openSet.has(body));
    const others = this.openGroups.filter(
      (group) => !node.bodies.some((body) => isGroupInside(group, body)),
    );
    this.viewport.keepInPlace(id);
    this.params.open.set(
      isOpen ? others : [...others, ...node.bodies, ...node.autoOpenGroups],
      'push',
    );
  }

  /** Closes everything. */
  collapseAll(): void {
    this.params.open.set([], 'push');
    this.resetView();
  }

  /** The next picture is looked at as if it were the first. */
  resetView(): void {
    this.params.view.set(null);
    this.#viewedGraph = '';
  }

  /** Shows a node wherever it is: `around` are the groups that hold it, from the outermost on. */
  selectAndReveal(id: string, around: readonly string[]): void {
    const { open, node } = this.params;
    node.set(id, 'push');
    const missing = around.filter((group) => !this.#openSet.has(group));
    if (missing.length === 0 && this.viewport.drawing.byId.has(id)) {
      this.viewport.reveal(id);
      return;
    }
    this.#pendingNode = { id, around };
    if (missing.length > 0) open.set([...this.openGroups, ...missing]);
    else void this.#unhidePendingNode();
  }

  /** Put the wanted node into the picture where it is aside, or not loaded with its group. */
  async #unhidePendingNode(): Promise<void> {
    const wanted = this.#pendingNode;
    const hidden =
      wanted && findHiddenReason(this.groups.loaded, this.#visibility, wanted.id, wanted.around);
    if (hidden?.kind === 'aside') this.toggleAuxiliary(hidden.node, 'replace');
    else if (hidden && this.groups.hasMore(hidden.group)) await this.groups.loadMore(hidden.group);
  }

  /** Shows a node without choosing it. */
  revealNode(id: string, around: readonly string[]): void {
    const chosen = this.params.node.value;
    this.selectAndReveal(id, around);
    this.params.node.set(chosen, 'replace');
  }

  /** Step by step: first the ways, then what was found, then the node. */
  clearSelection(): void {
    const { trace, pathStart, query, node } = this.params;
    if (pathStart.value !== null) pathStart.set(null);
    else if (trace.value !== 'off') trace.set('off');
    else if (query.value !== '') query.set('');
    else node.set(null);
  }

  /** Puts a node that stands aside among the others, or the other way round. */
  toggleAuxiliary(id: string, history: 'push' | 'replace' = 'push'): void {
    const { movedNodes } = this.params;
    const others = movedNodes.value.filter((other) => other !== id);
    movedNodes.set(others.length === movedNodes.value.length ? [...others, id] : others, history);
  }

  #findNode(id: string): GraphNode | undefined {
    return this.viewport.drawing.byId.get(id)?.node;
  }

  #expandPlaceholder(id: string): void {
    if (id.endsWith(AUXILIARY_SUFFIX)) {
      const { expandedAuxiliary } = this.params;
      expandedAuxiliary.set(
        [...expandedAuxiliary.value, id.slice(0, -AUXILIARY_SUFFIX.length)],
        'push',
      );
    } else void this.groups.loadMore(id.slice(0, -MORE_SUFFIX.length));
  }

  #openGraph(fold: boolean): void {
    const { reference } = this.catalog;
    this.viewport.clear();
    this.#viewedGraph = '';
    if (reference) void this.#load(fold);
  }

  async #load(fold: boolean): Promise<void> {
    const { reference } = this.catalog;
    const { open } = this.params;
    if (!reference) return;
    await this.groups.openGraph(reference, fold, (first) => {
      if (open.value === null && first.length > 0) open.set(first, 'replace');
      return this.openGroups;
    });
  }

  async #layOut(
    shown: GraphsState['visibleGroups'],
    flow: GraphParams['direction']['value'],
  ): Promise<void> {
    if (!shown.has('') || !(await this.viewport.layOut(shown, flow))) return;
    const wanted =
      this.#pendingNode?.id ?? (this.#viewedGraph === '' ? this.params.node.value : null);
    if (this.#viewedGraph !== this.catalog.referenceKey) this.#restoreView();
    if (wanted !== null && this.viewport.drawing.byId.has(wanted)) {
      this.#pendingNode = null;
      this.viewport.reveal(wanted);
    } else void this.#unhidePendingNode();
  }

  #restoreView(): void {
    this.#viewedGraph = this.catalog.referenceKey;
    const kept = this.params.view.value;
    if (kept) this.viewport.centerOn(kept);
    else this.viewport.showInitialView();
  }

  /** The address says where the picture lies once that was changed by hand and rests. */
  #saveView(): void {
    void this.viewport.view;
    clearTimeout(this.#saveViewTimer);
    if (untrack(() => this.#viewedGraph) === '') return;
    this.#saveViewTimer = setTimeout(
      () => this.params.view.set(this.viewport.center, 'replace'),
      SAVE_VIEW_DELAY_MS,
    );
  }

  #stop(): void {
    clearTimeout(this.#saveViewTimer);
    this.groups.stop();
    this.viewport.dispose();
  }
}

function isGroupInside(group: string, body: string): boolean {
  const inside = body.endsWith(BODY_SEPARATOR) ? [body] : [`${body}/`, `${body}${BODY_SEPARATOR}`];
  return group === body || inside.some((begin) => group.startsWith(begin));
}

export const [getGraphsState, setGraphsState] = createContext<GraphsState>();

/** What stands out in the picture, by what was chosen, found, traced or pointed at. */
export class GraphHighlights implements Highlights {
  readonly #graphs: GraphsState;

  constructor(graphs: GraphsState) {
    this.#graphs = graphs;
  }

  /** The nodes that are on the ways that were looked for; null where none was. */
  readonly #tracedNodes = $derived.by<ReadonlySet<string> | null>(() => {
    const { tracedRanks } = this.#graphs.tracing;
    if (tracedRanks === null) return null;
    const { nodes } = this.#graphs.viewport.drawing;
    const on = nodes.filter(({ node }) =>
      tracedRanks.some((ranks) => rangesTouchNode(ranks, node)),
    );
    const { node, pathStart } = this.#graphs.params;
    return toReadonlySet([...on.map(({ id }) => id), node.value ?? '', pathStart.value ?? '']);
  });

  readonly #matches = $derived.by(() => this.#findDrawnNodes(this.#graphs.search.hits));

  readonly #shapeIssues = $derived.by(() =>
    this.#findDrawnNodes(this.#graphs.coloring.statistics?.misfits ?? []),
  );

  readonly tracedCount = $derived(this.#tracedNodes?.size ?? 0);

  isSelected(id: string): boolean {
    return id === this.#graphs.params.node.value;
  }

  isMatch(id: string): boolean {
    return this.#matches.has(id) || id === this.#graphs.params.pathStart.value;
  }

  isDimmed(id: string): boolean {
    return this.#tracedNodes !== null && !this.#tracedNodes.has(id);
  }

  hasShapeIssue(id: string): boolean {
    return this.#shapeIssues.has(id);
  }

  isEdgeHighlighted({ source, target }: DrawnEdge): boolean {
    const on = this.#tracedNodes;
    if (on) return on.has(source) && on.has(target);
    const { hoveredNode, params } = this.#graphs;
    const ends = [source, target];
    return (
      (hoveredNode !== null && ends.includes(hoveredNode)) ||
      (params.node.value !== null && ends.includes(params.node.value))
    );
  }

  isEdgeDimmed(link: DrawnEdge): boolean {
    return this.#tracedNodes !== null && !this.isEdgeHighlighted(link);
  }

  /** Of something in a closed group, the group shows where to look. */
  #findDrawnNodes(
    rows: readonly { readonly path: string; readonly inside: readonly string[] }[],
  ): ReadonlySet<string> {
    const { byId } = this.#graphs.viewport.drawing;
    const shown = rows.map(({ path, inside }) =>
      [path, ...[...inside].reverse()].find((id) => byId.has(id)),
    );
    return toReadonlySet(shown.filter((id) => id !== undefined));
  }
}

/** The keys of the view; returns how to take them back. */
export function registerGraphShortcuts(graphs: GraphsState, focusSearch: () => void): () => void {
  const { viewport, params } = graphs;
  const trace = (direction: 'inputs' | 'outputs'): void =>
    params.trace.set(params.trace.value === direction ? 'off' : direction);
  const shortcuts: Omit<Shortcut, 'group'>[] = [
    { keys: 'f', label: 'Find nodes', run: focusSearch },
    { keys: 'z', label: 'Fit the graph to the screen', run: () => viewport.fit() },
    { keys: '+', label: 'Zoom in', run: () => viewport.zoomAtCenter(1.25) },
    { keys: '-', label: 'Zoom out', run: () => viewport.zoomAtCenter(0.8) },
    { keys: 'i', label: 'Trace to the inputs of the chosen node', run: () => trace('inputs') },
    { keys: 'o', label: 'Trace to the outputs of the chosen node', run: () => trace('outputs') },
    { keys: 'c', label: 'Close all groups', run: () => graphs.collapseAll() },
    { keys: 'Escape', label: 'Let go of what is chosen', run: () => graphs.clearSelection() },
  ];
  const stops = shortcuts.map((shortcut) =>
    graphs.context.shortcuts.register({ ...shortcut, group: 'Graphs' }),
  );
  return () => stops.forEach((stop) => stop());
}

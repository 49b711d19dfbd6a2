import { createContext, untrack } from 'svelte';

import * as common from '../../catalog/common';
import * as m from '../../catalog/graphs';
import type { Context, Param, Shortcut } from '../../plugin/context';
import type { DrawnEdge, Highlights } from './canvas/graph-drawing';
import { GraphViewport } from './canvas/graph-viewport.svelte';
import { NodeColoring } from './canvas/node-coloring.svelte';
import { createGraphParams, GraphCatalog, type GraphParams } from './graph-catalog.svelte';
import {
  buildVisibleGroups,
  findHiddenReason,
  type GraphNode,
  isExpandable,
  isInsideGroup,
  parsePlaceholder,
  rangesTouchNode,
  type VisibilityOptions,
  type VisibleGroups,
} from './graph-model';
import type { Direction } from './layout/layout-types';
import { GraphQueries } from './query.svelte';

/** The view is written to the URL this long after the last pan or zoom. */
const SAVE_VIEW_DELAY_MS = 400;

/** A node to bring into view, and the groups that contain it. */
interface PendingNode {
  readonly id: string;
  readonly enclosing: readonly string[];
}

/**
 * The state that the components of the dashboard share. What the user selects is in the URL
 * (`params`); drawing, colors and highlights follow from it and from the loaded data.
 */
export class GraphsState {
  readonly context: Context;
  readonly params: GraphParams;
  readonly catalog: GraphCatalog;
  readonly queries: GraphQueries;
  readonly viewport = new GraphViewport();
  readonly coloring: NodeColoring;
  readonly highlights: GraphHighlights;
  /** The node under the pointer, in the drawing or in a list. */
  hoveredNode = $state<string | null>(null);
  /** The graph whose drawing is shown in a view of its own; empty for the next initial view. */
  #viewedGraph = '';
  /** The view in the URL is to be applied after the next layout. */
  #isRestorePending = false;
  /** The view that was last written to the URL or read from it. */
  #savedView = '';
  /** The next drawing is to be shown as a whole. */
  #isFitPending = false;
  #pendingNode: PendingNode | null = null;
  #saveViewTimer: ReturnType<typeof setTimeout> | undefined;

  /** Must be called where effects can be created. */
  constructor(context: Context) {
    this.context = context;
    this.params = createGraphParams(context);
    this.catalog = new GraphCatalog(context, this.params);
    this.queries = new GraphQueries(context, this.params, this.catalog);
    this.coloring = new NodeColoring(this.params, this.catalog, this.queries);
    this.highlights = new GraphHighlights(this);
    $effect(() => {
      void this.catalog.referenceKey;
      untrack(() => this.#reset());
    });
    $effect(() => {
      const { visibleGroups } = this;
      const direction = this.params.direction.value;
      if (visibleGroups) untrack(() => void this.#layOut(visibleGroups, direction));
    });
    $effect(() => {
      const key = JSON.stringify(this.params.view.value);
      untrack(() => this.#followUrl(key));
    });
    $effect(() => this.#saveView());
    $effect(() => () => {
      clearTimeout(this.#saveViewTimer);
      this.viewport.dispose();
    });
  }

  readonly #openSet = $derived.by<ReadonlySet<string>>(() => new Set(this.queries.openGroups));

  readonly #visibility = $derived.by<VisibilityOptions>(() => ({
    expandedAuxiliary: new Set(this.params.expandedAuxiliary.value),
    movedNodes: new Set(this.params.movedNodes.value),
  }));

  /** What is to be drawn; null while a group is loading, so that no step is drawn halfway. */
  readonly visibleGroups = $derived.by<VisibleGroups | null>(() => {
    const { groups, isSettled } = this.queries;
    if (!isSettled || !groups.has('')) return null;
    return buildVisibleGroups(groups, this.#openSet, this.#visibility);
  });

  readonly selectedNode = $derived.by(() => {
    const id = this.params.node.value;
    return id === null ? undefined : this.viewport.drawing.byId.get(id);
  });

  /** True while data is loading or being laid out. */
  readonly isBusy = $derived.by(() => this.viewport.isLayingOut || !this.queries.isSettled);

  // ---- Actions. Each adds an entry to the browser's history.

  select(id: string | null): void {
    this.params.node.set(id, 'push');
  }

  /** Select a node by keyboard and bring it into view. A walk is one entry of the history. */
  walkTo(id: string): void {
    this.params.node.set(id, this.params.node.value === null ? 'push' : 'replace');
    this.viewport.reveal(id);
  }

  /** Handle a click on a node: select it, or show or hide the nodes of a placeholder. */
  activate(id: string, expands = false): void {
    const node = this.#findNode(id);
    const placeholder = node?.kind === 'placeholder' ? parsePlaceholder(id) : null;
    if (placeholder?.kind === 'auxiliary') {
      const parent = this.viewport.drawing.byId.get(id)?.parent ?? '';
      if (parent === '') this.#isFitPending = true;
      else this.viewport.keepInPlace(parent);
      toggleItem(this.params.expandedAuxiliary, placeholder.group, 'push');
    } else if (placeholder) this.queries.loadMore(placeholder.group);
    else if (expands && node && isExpandable(node)) this.toggleGroup(id);
    else this.select(id);
  }

  /** Return whether the auxiliary nodes beside this one are in the main graph. */
  isAuxiliaryExpanded(id: string): boolean {
    const parent = this.viewport.drawing.byId.get(id)?.parent ?? '';
    const group = this.visibleGroups?.get(parent)?.id ?? '';
    return this.params.expandedAuxiliary.value.includes(group);
  }

  isLeaf(id: string): boolean {
    const node = this.#findNode(id);
    return !node || !isExpandable(node);
  }

  /** Expand or collapse a group without moving it on the screen. */
  toggleGroup(id: string): void {
    const node = this.#findNode(id);
    if (!node) return;
    const isOpen = node.bodies.some((body) => this.#openSet.has(body));
    const others = this.queries.openGroups.filter(
      (group) => !node.bodies.some((body) => isInsideGroup(group, body)),
    );
    this.viewport.keepInPlace(id);
    this.params.open.set(
      isOpen ? others : [...others, ...node.bodies, ...node.autoOpenGroups],
      'push',
    );
  }

  collapseAll(): void {
    this.params.open.set([], 'push');
    this.#resetView();
  }

  setDirection(direction: Direction): void {
    this.params.direction.set(direction, 'push');
    this.#resetView();
  }

  selectAndReveal(id: string, enclosing: readonly string[]): void {
    this.params.node.set(id, 'push');
    this.revealNode(id, enclosing);
  }

  /** Bring a node into view; expands the groups that contain it, outermost first. */
  revealNode(id: string, enclosing: readonly string[]): void {
    const missing = enclosing.filter((group) => !this.#openSet.has(group));
    if (missing.length === 0 && this.viewport.drawing.byId.has(id)) {
      this.viewport.reveal(id);
      return;
    }
    this.#pendingNode = { id, enclosing };
    if (missing.length > 0) this.params.open.set([...this.queries.openGroups, ...missing], 'push');
    else this.#unhidePendingNode();
  }

  /** Clear one thing at a time: the path, the trace, the search, the selection. */
  clearSelection(): void {
    const { trace, pathStart, query, node } = this.params;
    if (pathStart.value !== null) pathStart.set(null, 'push');
    else if (trace.value !== 'off') trace.set('off', 'push');
    else if (query.value !== '') query.set('', 'push');
    else node.set(null, 'push');
  }

  /** Set the search query. Starting or ending a search is an entry of the history, typing is not. */
  search(query: string): void {
    const param = this.params.query;
    param.set(query, param.value === '' || query === '' ? 'push' : 'replace');
  }

  /** Select the first match of the search, or the one after the selected match. */
  revealNextMatch(): void {
    const hits = this.queries.search.data?.hits ?? [];
    const selected = hits.findIndex(({ path }) => path === this.params.node.value);
    const next = hits[(selected + 1) % Math.max(1, hits.length)];
    if (next) this.selectAndReveal(next.path, next.ancestors);
  }

  /** Move an auxiliary node into the main graph, or another one out of it. */
  toggleAuxiliary(id: string, history: 'push' | 'replace' = 'push'): void {
    toggleItem(this.params.movedNodes, id, history);
  }

  // ---- Drawing and view

  #findNode(id: string): GraphNode | undefined {
    return this.viewport.drawing.byId.get(id)?.node;
  }

  /** Show the initial view of the next drawing. */
  #resetView(): void {
    this.params.view.set(null);
    this.#viewedGraph = '';
  }

  /** Another graph is shown. */
  #reset(): void {
    this.viewport.clear();
    this.#viewedGraph = '';
  }

  /** Make the pending node visible: move it into the main graph, or load more of its group. */
  #unhidePendingNode(): void {
    const pending = this.#pendingNode;
    if (!pending) return;
    const { id, enclosing } = pending;
    const reason = findHiddenReason(this.queries.groups, this.#visibility, id, enclosing);
    if (reason?.kind === 'auxiliary') this.toggleAuxiliary(reason.node, 'replace');
    else if (reason && this.queries.hasMore(reason.group)) this.queries.loadMore(reason.group);
  }

  async #layOut(groups: VisibleGroups, direction: Direction): Promise<void> {
    if (!(await this.viewport.layOut(groups, direction))) return;
    const isFirst = this.#viewedGraph !== this.catalog.referenceKey;
    const revealed = this.#pendingNode?.id ?? (isFirst ? this.params.node.value : null);
    if (isFirst || this.#isRestorePending) this.#restoreView();
    else if (this.#isFitPending) this.viewport.fit();
    this.#isFitPending = false;
    if (revealed !== null && this.viewport.drawing.byId.has(revealed)) {
      this.#pendingNode = null;
      this.viewport.reveal(revealed);
    } else this.#unhidePendingNode();
  }

  #restoreView(): void {
    this.#viewedGraph = this.catalog.referenceKey;
    this.#isRestorePending = false;
    const { value } = this.params.view;
    this.#savedView = JSON.stringify(value);
    if (value) this.viewport.centerOn(value);
    else this.viewport.showInitialView();
  }

  /** Back or Forward changed the view: apply it, after the layout that may have changed with it. */
  #followUrl(key: string): void {
    if (key === this.#savedView || key === 'null' || this.#viewedGraph === '') return;
    clearTimeout(this.#saveViewTimer);
    if (this.isBusy) this.#isRestorePending = true;
    else this.#restoreView();
  }

  #saveView(): void {
    void this.viewport.view;
    clearTimeout(this.#saveViewTimer);
    if (untrack(() => this.#viewedGraph) === '') return;
    this.#saveViewTimer = setTimeout(() => {
      this.params.view.set(this.viewport.center, 'replace');
      this.#savedView = JSON.stringify(this.params.view.value);
    }, SAVE_VIEW_DELAY_MS);
  }
}

function toggleItem(
  param: Param<readonly string[]>,
  item: string,
  history: 'push' | 'replace',
): void {
  const others = param.value.filter((other) => other !== item);
  param.set(others.length === param.value.length ? [...others, item] : others, history);
}

export const [getGraphsState, setGraphsState] = createContext<GraphsState>();

/** Which nodes and edges stand out: the selection, search results, traces and hovered nodes. */
export class GraphHighlights implements Highlights {
  readonly #graphs: GraphsState;

  constructor(graphs: GraphsState) {
    this.#graphs = graphs;
  }

  /** The nodes on the traced paths; null if nothing is traced. */
  readonly #tracedNodes = $derived.by<ReadonlySet<string> | null>(() => {
    const { queries, viewport, params } = this.#graphs;
    const { tracedRanges } = queries;
    if (tracedRanges === null) return null;
    const traced = viewport.drawing.nodes.filter(({ node }) =>
      tracedRanges.some((ranges) => rangesTouchNode(ranges, node)),
    );
    const ends = [params.node.value ?? '', params.pathStart.value ?? ''];
    return new Set([...traced.map(({ id }) => id), ...ends]);
  });

  readonly #matches = $derived.by(() =>
    this.#findDrawnNodes(this.#graphs.queries.search.data?.hits ?? []),
  );

  readonly #shapeIssues = $derived.by(() =>
    this.#findDrawnNodes(this.#graphs.queries.statistics.data?.shape_issues ?? []),
  );

  readonly isTracing = $derived.by(() => this.#tracedNodes !== null);

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
    const traced = this.#tracedNodes;
    if (traced) return traced.has(source) && traced.has(target);
    const { hoveredNode, params } = this.#graphs;
    const ends = [source, target];
    return (
      (hoveredNode !== null && ends.includes(hoveredNode)) ||
      (params.node.value !== null && ends.includes(params.node.value))
    );
  }

  isEdgeDimmed(edge: DrawnEdge): boolean {
    return this.#tracedNodes !== null && !this.isEdgeHighlighted(edge);
  }

  /** A node in a collapsed group is represented by the group. */
  #findDrawnNodes(
    rows: readonly { readonly path: string; readonly ancestors: readonly string[] }[],
  ): ReadonlySet<string> {
    const { byId } = this.#graphs.viewport.drawing;
    const drawn = rows.map(({ path, ancestors }) =>
      [path, ...[...ancestors].reverse()].find((id) => byId.has(id)),
    );
    return new Set(drawn.filter((id) => id !== undefined));
  }
}

/** Register the keyboard shortcuts; returns a function that removes them. */
export function registerGraphShortcuts(graphs: GraphsState, focusSearch: () => void): () => void {
  const { viewport, params } = graphs;
  const trace = (direction: 'inputs' | 'outputs'): void =>
    params.trace.set(params.trace.value === direction ? 'off' : direction, 'push');
  const shortcuts: Omit<Shortcut, 'group'>[] = [
    { keys: 'f', label: m.searchLabel, run: focusSearch },
    { keys: 'z', label: m.shortcutFit, run: () => viewport.fit() },
    { keys: '+', label: common.zoomIn, run: () => viewport.zoomAtCenter(1.25) },
    { keys: '-', label: common.zoomOut, run: () => viewport.zoomAtCenter(0.8) },
    { keys: 'i', label: m.shortcutTraceInputs, run: () => trace('inputs') },
    { keys: 'o', label: m.shortcutTraceOutputs, run: () => trace('outputs') },
    { keys: 'c', label: m.collapseAll, run: () => graphs.collapseAll() },
    { keys: 'Escape', label: common.clearSelection, run: () => graphs.clearSelection() },
  ];
  const removals = shortcuts.map((shortcut) =>
    graphs.context.shortcuts.register({ ...shortcut, group: m.title }),
  );
  return () => removals.forEach((remove) => remove());
}

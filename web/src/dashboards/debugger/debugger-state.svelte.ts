/** State of the Debugger dashboard: queries, filters, and what is selected. */
import { createContext } from 'svelte';

import type { Query } from '../../api/create-query.svelte';
import type {
  DebugOverviewResponse,
  DebugSourceRow,
  DebugSourcesResponse,
  HealthAlert,
  RootCause,
} from '../../api/schemas';
import * as codec from '../../lib/codecs';
import type { Codec } from '../../lib/codecs';
import type { Context, Param } from '../../plugin/context';
import { overviewQuery, sourcesQuery } from './query';

/** What the details panel shows. */
export type Selection =
  | { readonly kind: 'execution'; readonly index: number }
  | { readonly kind: 'graph_execution'; readonly index: number }
  | { readonly kind: 'tensor'; readonly index: number; readonly step: number | null }
  | { readonly kind: 'value'; readonly name: string };

/** `e12` is an execution, `g34` a trace, `t5@80` a tensor at a step, `v:log` a stored tensor. */
export const selectionCodec: Codec<Selection | null> = {
  parse(text) {
    if (text.startsWith('v:')) return { kind: 'value', name: text.slice(2) };
    const match = /^([egt])(\d+)(?:@(-?\d+))?$/.exec(text);
    if (!match) return null;
    const index = Number(match[2]);
    if (match[1] === 'e') return { kind: 'execution', index };
    if (match[1] === 'g') return { kind: 'graph_execution', index };
    return { kind: 'tensor', index, step: match[3] === undefined ? null : Number(match[3]) };
  },
  format(selection) {
    if (selection === null) return '';
    if (selection.kind === 'value') return `v:${selection.name}`;
    if (selection.kind === 'execution') return `e${selection.index}`;
    if (selection.kind === 'graph_execution') return `g${selection.index}`;
    return selection.step === null
      ? `t${selection.index}`
      : `t${selection.index}@${selection.step}`;
  },
};

/** Return what an alert or the root cause is about; null if that has no details of its own. */
export function selectAlert(alert: HealthAlert | RootCause): Selection | null {
  if (alert.graph_execution !== null) {
    return { kind: 'graph_execution', index: alert.graph_execution };
  }
  if (alert.execution !== null) return { kind: 'execution', index: alert.execution };
  if (alert.tensor !== null) return { kind: 'tensor', index: alert.tensor, step: alert.step };
  return null;
}

export function isSameSelection(one: Selection | null, other: Selection | null): boolean {
  return selectionCodec.format(one) === selectionCodec.format(other);
}

export const VIEWS = [
  'problems',
  'tensors',
  'executions',
  'graph_executions',
  'code',
  'compare',
] as const;
export type DebuggerView = (typeof VIEWS)[number];

export const STATS = [
  'norm',
  'max',
  'min',
  'mean',
  'std',
  'non_finite',
  'nan',
  'neg_inf',
  'pos_inf',
  'zeros',
  'negatives',
  'overflow',
  'underflow',
  'dead',
] as const;
export type Stat = (typeof STATS)[number];

export const ROLES = ['all', 'output', 'gradient', 'parameter', 'update'] as const;
export type RoleFilter = (typeof ROLES)[number];

const VIEWS_BY_KIND: Readonly<Record<DebugSourceRow['kind'], readonly DebuggerView[]>> = {
  dump: ['problems', 'executions', 'graph_executions', 'code', 'compare'],
  recording: ['problems', 'tensors', 'code', 'compare'],
};

/** A line of a source file. */
export interface SourcePosition {
  readonly path: string;
  readonly line: number;
}

const positionCodec: codec.Codec<SourcePosition | null> = {
  parse(text) {
    const match = /^(.+):(\d+)$/.exec(text);
    return match ? { path: match[1] ?? '', line: Number(match[2]) } : null;
  },
  format: (value) => (value === null ? '' : `${value.path}:${value.line}`),
};

/** Everything that the views share. What decides on the view is in the URL. */
export class DebuggerState {
  readonly context: Context;
  readonly sources: Query<DebugSourcesResponse>;
  readonly overview: Query<DebugOverviewResponse>;

  readonly #name: Param<string>;
  readonly #view: Param<DebuggerView>;
  readonly #selection: Param<Selection | null>;
  /** Index of the current alert among all alerts. */
  readonly alert: Param<number | null>;
  readonly kinds: Param<readonly string[]>;
  readonly search: Param<string>;
  readonly dtype: Param<string>;
  readonly steps: Param<readonly [number, number] | null>;
  readonly onlyNonFinite: Param<boolean>;
  /** Visible part of the timeline, in seconds since the start. */
  readonly timeRange: Param<readonly [number, number] | null>;
  readonly stat: Param<Stat>;
  readonly role: Param<RoleFilter>;
  readonly code: Param<SourcePosition | null>;
  readonly otherName: Param<string>;

  constructor(context: Context) {
    this.context = context;
    const { url } = context;
    this.#name = url.param('debugger-run', codec.text, '');
    this.#view = url.param('debugger-view', codec.choice(VIEWS, 'problems'), 'problems');
    this.#selection = url.param('debugger-item', selectionCodec, null);
    this.alert = url.param('debugger-alert', codec.optionalNumber, null);
    this.kinds = url.param('debugger-kinds', codec.list, []);
    this.search = url.param('debugger-search', codec.text, '');
    this.dtype = url.param('debugger-dtype', codec.text, '');
    this.steps = url.param('debugger-steps', codec.range, null);
    this.onlyNonFinite = url.param('debugger-nonfinite', codec.flag, false);
    this.timeRange = url.param('debugger-time', codec.range, null);
    this.stat = url.param('debugger-stat', codec.choice(STATS, 'norm'), 'norm');
    this.role = url.param('debugger-role', codec.choice(ROLES, 'all'), 'all');
    this.code = url.param('debugger-code', positionCodec, null);
    this.otherName = url.param('debugger-compare', codec.text, '');
    this.sources = context.query(sourcesQuery, () => ({}));
    this.overview = context.query(
      overviewQuery,
      () => (this.source ? { source: this.source.name } : null),
      { keepPrevious: (previous, next) => previous.source === next.source },
    );
  }

  /** Those of the selected runs first. */
  readonly rows = $derived.by<readonly DebugSourceRow[]>(() => {
    const rows = this.sources.data?.sources ?? [];
    const isVisible = (row: DebugSourceRow): boolean =>
      this.context.runs.find(row.run) !== undefined;
    return [...rows.filter(isVisible), ...rows.filter((row) => !isVisible(row))];
  });

  /** At first one with a root cause, which is what users look for. */
  readonly source = $derived(
    this.rows.find(({ name }) => name === this.#name.value) ??
      this.rows.find((row) => row.problem === null && row.problem_step !== null) ??
      this.rows.find(({ problem }) => problem === null) ??
      this.rows[0] ??
      null,
  );

  /** The color of the run, as on all charts. */
  readonly color = $derived.by(() => {
    const { runs, theme } = this.context;
    const color = this.source ? runs.find(this.source.run)?.color : undefined;
    return color ?? (theme.dark ? '#9a95ff' : '#4f46e5');
  });

  readonly views = $derived.by<readonly DebuggerView[]>(() => {
    if (!this.source) return [];
    const hasOthers = this.others.length > 0;
    return VIEWS_BY_KIND[this.source.kind].filter((view) => view !== 'compare' || hasOthers);
  });

  readonly view = $derived.by<DebuggerView>(() => {
    const { value } = this.#view;
    return this.views.includes(value) ? value : 'problems';
  });

  /** Dumps or recordings that the current one can be compared with. */
  readonly others = $derived(
    this.rows.filter(
      ({ name, kind, problem }) =>
        kind === this.source?.kind && problem === null && name !== this.source.name,
    ),
  );

  readonly selection = $derived.by(() => {
    const { value } = this.#selection;
    return this.#isValid(value) ? value : null;
  });

  #isValid(selection: Selection | null): boolean {
    if (selection === null || !this.source) return false;
    const isEvent = selection.kind === 'execution' || selection.kind === 'graph_execution';
    return isEvent === (this.source.kind === 'dump');
  }

  getLabel({ run, name }: DebugSourceRow): string {
    const label = this.context.runs.find(run)?.label;
    return label === undefined ? name : name.replace(run, label);
  }

  openSource(name: string): void {
    this.#name.set(name, 'push');
    this.#selection.set(null);
    this.alert.set(null);
    this.timeRange.set(null);
    this.steps.set(null);
    this.code.set(null);
  }

  openView(view: DebuggerView): void {
    this.#view.set(view, 'push');
  }

  select(selection: Selection | null): void {
    this.#selection.set(selection);
  }

  selectAlert(index: number, alert: HealthAlert): void {
    this.alert.set(index);
    this.#selection.set(selectAlert(alert));
  }

  /** Show a tensor in the heat map, or an event in its list. */
  showInContext(selection: Selection): void {
    if (selection.kind === 'value') return;
    const views = {
      execution: 'executions',
      graph_execution: 'graph_executions',
      tensor: 'tensors',
    } as const;
    this.search.set('');
    this.onlyNonFinite.set(false);
    this.openView(views[selection.kind]);
    this.#selection.set(selection);
  }

  openCode(position: SourcePosition): void {
    this.code.set(position);
    this.openView('code');
  }
}

export const [getDebugger, setDebugger] = createContext<DebuggerState>();

import { getContext, setContext } from 'svelte';

import type { Problem } from '../../api/types';
import { afterPaint } from '../../base/after-paint';
import { text } from '../../base/codec';
import { inPieces } from '../../base/pieces';
import type { Context } from '../../plugin/context';
import { Loader } from './data/loader.svelte';
import { type Metric, readMetrics, readSessions } from './data/read';
import { type Axis, type AxisScale, makeAxis, usualScale } from './model/axis';
import { AxisBook, type Straight } from './model/axis-book';
import { type Column, makeSessions, type Sessions } from './model/column';
import { findCommon, type Findings } from './model/findings';
import { type Goal, rankRows } from './model/goal';
import { type Ink, inkOf } from './model/ink';
import { sortRows } from './model/order';
import { findPassing, NO_RULES, type Rule, type Rules, rowsOf, withRule } from './model/rules';
import { movedKeys, shownColumns } from './model/shown';
import { withAxis } from './state/codecs';
import { openSettings, type Settings } from './state/settings';
import { Figures } from './takeaway/figures';

const NONE = makeSessions([], [], []);

/** The sessions of the log, which of them are looked at, and how: all views are of this. */
export class Study {
  readonly context: Context;
  readonly settings: Settings;
  readonly loader: Loader;
  /** The session under the pointer, in whichever view. */
  hovered = $state<number | null>(null);
  /** What is drawn of the sessions at present. */
  readonly figures = new Figures();
  /** What went wrong with a file that somebody wanted. */
  trouble = $state.raw<Problem | null>(null);
  /** Rules as a hand draws them, before they are let go of. */
  #drawn = $state.raw<Rules | null>(null);

  constructor(context: Context) {
    this.context = context;
    this.settings = openSettings(context);
    this.loader = new Loader(context, this.settings);
  }

  readonly sessions: Sessions = $derived.by(() => {
    const { answer } = this.loader;
    return answer ? readSessions(answer, Date.now() / 1000) : NONE;
  });
  readonly metrics: readonly Metric[] = $derived.by(() => {
    const { answer } = this.loader;
    return answer ? readMetrics(answer) : [];
  });

  readonly metric: Metric | undefined = $derived.by(() => {
    const { metric } = this.settings;
    return this.metrics.find(({ key }) => key === metric.value) ?? usualMetric(this.metrics);
  });
  readonly goal: Goal | null = $derived.by(() => {
    const column = this.metric && this.sessions.find(this.metric.key);
    const { value } = this.settings.goal;
    const isLow = (value === 'usual' ? this.metric?.goal : value) === 'min';
    return column ? { column, isLow } : null;
  });

  readonly hparams: readonly Column[] = $derived(
    this.sessions.columns.filter(({ kind }) => kind === 'hparam'),
  );
  /** The columns that are seen, in their order. */
  readonly columns: readonly Column[] = $derived.by(() => {
    const { arranged, hidden, added } = this.settings;
    const wishes = { arranged: arranged.value, hidden: hidden.value, added: added.value };
    return shownColumns(this.sessions.columns, wishes, this.metric?.key ?? null);
  });

  readonly rules: Rules = $derived.by(() => this.#drawn ?? this.settings.rules.value);
  /** 1 for each session that the filter of the run table lets through. */
  readonly #admitted: Uint8Array = $derived.by(() => {
    const { runs } = this.context;
    const { count } = this.sessions;
    return Uint8Array.from({ length: count }, (_, row) =>
      Number(this.sessions.runs[row]?.some((run) => runs.isFound(run)) ?? false),
    );
  });
  readonly passing: Uint8Array = $derived(findPassing(this.sessions, this.rules, this.#admitted));
  readonly rows: Int32Array = $derived(rowsOf(this.passing));
  readonly sorted: Int32Array = $derived.by(() => {
    const keys = this.settings.order.value;
    if (keys.length > 0 || !this.goal) return sortRows(this.rows, keys, this.sessions);
    const { column, isLow } = this.goal;
    return sortRows(this.rows, [{ key: column.key, descending: !isLow }], this.sessions);
  });

  /** What passes once the hand has let go: for what takes too long to follow it. */
  readonly settled: Int32Array = $derived.by(() =>
    rowsOf(findPassing(this.sessions, this.settings.rules.value, this.#admitted)),
  );
  /** What the best have in common, which takes longer to find than all pictures to draw. */
  findings = $state.raw<Findings | null>(null);
  readonly best: number | null = $derived.by(
    () => (this.goal && rankRows(this.goal, this.settled)[0]) ?? null,
  );

  readonly colouredBy: Column | null = $derived.by(() => {
    const { value } = this.settings.colour;
    return (value === null ? null : this.sessions.find(value)) ?? this.goal?.column ?? null;
  });
  readonly ink: Ink = $derived.by(() => {
    const column = this.colouredBy ?? this.sessions.columns[0];
    if (!column) return { levels: new Uint8Array(), order: new Int32Array() };
    return inkOf(this.axisOf(column), column === this.goal?.column && this.goal.isLow);
  });

  /** Another one for other sessions or other wishes. */
  readonly #axes: AxisBook = $derived.by(() => {
    void this.sessions;
    void this.settings.axes.value;
    return new AxisBook((column) => makeAxis(column, this.scaleOf(column)));
  });

  /** An axis the way somebody wants it. */
  axisOf(column: Column): Axis {
    const flipped = this.settings.axes.value.get(column.key)?.flipped;
    return makeAxis(column, this.scaleOf(column), flipped);
  }

  scaleOf(column: Column): AxisScale {
    return this.settings.axes.value.get(column.key)?.scale ?? usualScale(column);
  }

  /** As `axisOf`, but never turned around, with where each session stands: for planes. */
  straight(column: Column): Straight {
    return this.#axes.get(column);
  }

  setScale(key: string, scale: AxisScale): void {
    const { axes } = this.settings;
    axes.set(withAxis(axes.value, key, { scale }));
  }

  flip(key: string): void {
    const { axes } = this.settings;
    axes.set(withAxis(axes.value, key, { flipped: !axes.value.get(key)?.flipped }));
  }

  /** A rule as it is being drawn; `settle` keeps it. */
  draw(rules: readonly (readonly [string, Rule | null])[]): void {
    this.#drawn = rules.reduce(
      (all, [key, rule]) => withRule(all, key, rule),
      this.settings.rules.value,
    );
  }

  settle(): void {
    if (this.#drawn) this.settings.rules.set(this.#drawn);
    this.#drawn = null;
  }

  rule(key: string, rule: Rule | null): void {
    this.settings.rules.set(withRule(this.settings.rules.value, key, rule));
  }

  clearRules(): void {
    this.#drawn = null;
    this.settings.rules.set(NO_RULES);
  }

  /** Shows or hides a column in all views. */
  showColumn(key: string, shown: boolean): void {
    const { hidden, added } = this.settings;
    const without = (keys: readonly string[]): string[] => keys.filter((other) => other !== key);
    hidden.set(shown ? without(hidden.value) : [...without(hidden.value), key]);
    added.set(shown ? [...without(added.value), key] : without(added.value));
  }

  /** Puts a column before another in all views. */
  move(key: string, before: string | null): void {
    const keys = this.columns.map((column) => column.key);
    this.settings.arranged.set(movedKeys(keys, key, before));
  }

  /** The session under the pointer is lit in the table of runs as well. */
  #lightRun(): void {
    const [run] = this.hovered === null ? [] : (this.sessions.runs[this.hovered] ?? []);
    this.context.runs.highlight(run ?? null);
  }

  /** The curves of a session, and of no other. */
  openScalars(row: number): void {
    const own = this.sessions.runs[row] ?? [];
    const names = this.context.runs.all.map(({ name }) => name);
    const below = names.filter((name) =>
      own.some((run) => name === run || name.startsWith(`${run}/`)),
    );
    this.context.runs.showOnly(below);
    this.context.address.param('tab', text, '').set('scalars', 'push');
  }

  follow(): void {
    $effect(() => this.#lightRun());
    $effect(() => this.loader.follow());
    $effect(() => {
      const [goal, rows] = [this.goal, this.settled];
      const differing = this.hparams.filter(({ differs }) => differs);
      return goal
        ? afterPaint(() =>
            inPieces(findCommon(goal, differing, rows), (found) => (this.findings = found)),
          )
        : void (this.findings = null);
    });
    $effect(() => () => this.loader.stop());
  }
}

/** What was declared first, else what was measured on data that was not trained on. */
function usualMetric(metrics: readonly Metric[]): Metric | undefined {
  return (
    metrics.find(({ declared }) => declared) ??
    metrics.find(({ title, group }) => /val|test|eval/i.test(`${group} ${title}`)) ??
    metrics[0]
  );
}

const KEY = Symbol('hparams');

export function setStudy(study: Study): Study {
  return setContext(KEY, study);
}

export function getStudy(): Study {
  return getContext<Study>(KEY);
}

import { QueryObserver } from '../api/create-query.svelte';
import { ServerError, toProblem } from '../api/errors';
import type { QueryCache } from '../api/query-cache';
import { defineQuery, type RequestOf } from '../api/query-definition';
import type {
  AlertRule,
  DerivedMetric,
  LayoutCategory,
  NotesResponse,
  Problem,
  RunNote,
} from '../api/schemas';
import { list } from '../lib/codecs';
import type {
  Annotation,
  ChartLayout,
  Notes,
  Param,
  Preferences,
  RunNoteChange,
} from '../plugin/context';
import type { LiveLog } from './live-log.svelte';

const NOT_FOUND = 404;
const CONFLICT = 409;

/** The server also announces the changes of this page, which need not be loaded. */
const CHANGED_ELSEWHERE = { event: 'notes-changed-elsewhere' };
const notesQuery = defineQuery('GET notes', { scope: CHANGED_ELSEWHERE, minRefreshMs: 500 });

type NotesRoute =
  | 'PATCH notes/runs'
  | 'POST notes/annotations'
  | 'DELETE notes/annotations/{id}'
  | 'PUT notes/layouts'
  | 'PUT notes/metrics'
  | 'PUT alerts/rules';

export const EMPTY_NOTE: RunNote = {
  note: '',
  alias: '',
  hidden: false,
  color: '',
  labels: [],
  pinned: false,
};

const NO_ALERTS: NotesResponse['alerts'] = { rules: [], alerts: [], webhook: false };

/** What users add to a log: run notes, annotations, layouts and alerts, stored by the server. */
export class LogNotes implements Notes {
  annotations = $state.raw<readonly Annotation[]>([]);
  layouts = $state.raw<readonly ChartLayout[]>([]);
  metrics = $state.raw<readonly DerivedMetric[]>([]);
  alerts = $state.raw(NO_ALERTS);
  /** Why the last change was not saved. */
  error = $state.raw<Problem | null>(null);

  #runs = $state.raw<Readonly<Record<string, RunNote>>>({});
  #response: NotesResponse | undefined;
  readonly #liveLog: LiveLog;
  readonly #queries: QueryCache;

  constructor(liveLog: LiveLog) {
    this.#liveLog = liveLog;
    this.#queries = liveLog.queries;
    liveLog.on('notes', (body) => {
      if ((body as { revision: number }).revision !== this.#response?.revision) this.#reload();
    });
    liveLog.on('alert', () => this.#reload());
  }

  start(): void {
    new QueryObserver(this.#queries, notesQuery, {}, ({ data, error }) => {
      if (data && data !== this.#response) this.#show(data);
      // A static export has no notes; the connection status reports an unreachable server.
      if (error instanceof ServerError && error.status !== NOT_FOUND) this.error = error.problem;
    }).setRequest({});
  }

  /** Notes of runs by name; another object after every change. */
  get runs(): Readonly<Record<string, RunNote>> {
    return this.#runs;
  }

  /** Change the notes of runs at once, and undo the change if the server cannot save it. */
  async updateRuns(names: readonly string[], change: RunNoteChange): Promise<void> {
    const before = this.#runs;
    const changed = { ...before };
    for (const name of names) changed[name] = applyChange(before[name] ?? EMPTY_NOTE, change);
    this.#runs = changed;
    const request = { runs: names, ...change };
    await this.#save(this.change('PATCH notes/runs', request), () => (this.#runs = before));
  }

  async editRuns(names: readonly string[], change: RunNoteChange): Promise<void> {
    await this.#edit(this.change('PATCH notes/runs', { runs: names, ...change }));
  }

  async addAnnotation(step: number, text: string, tag: string | null): Promise<void> {
    await this.#save(this.change('POST notes/annotations', { step, text, tag }));
  }

  async deleteAnnotation(id: string): Promise<void> {
    await this.#save(this.change('DELETE notes/annotations/{id}', { id }));
  }

  async saveLayout(name: string, categories: readonly LayoutCategory[] | null): Promise<void> {
    await this.change('PUT notes/layouts', { name, categories });
  }

  async saveMetric(
    name: string,
    expression: string | null,
    expected: string | null,
  ): Promise<void> {
    await this.#edit(this.change('PUT notes/metrics', { name, expression, expected }));
  }

  /** Send a change; the response has all notes. */
  async change<Route extends NotesRoute>(route: Route, request: RequestOf<Route>): Promise<void> {
    this.#queries.set(notesQuery, {}, await this.#queries.mutate(route, request));
  }

  /** Wait for a change that may conflict with one of another user; then load what is stored. */
  async #edit(change: Promise<void>): Promise<void> {
    try {
      await change;
    } catch (error) {
      if (error instanceof ServerError && error.status === CONFLICT) {
        this.#queries.invalidate(notesQuery);
        await this.#queries.fetch(notesQuery, {});
      }
      throw error;
    }
  }

  async #save(change: Promise<void>, undo?: () => void): Promise<void> {
    try {
      await change;
      this.error = null;
    } catch (error) {
      undo?.();
      this.error = toProblem(error);
    }
  }

  #reload(): void {
    this.#queries.revisions.markEvent(CHANGED_ELSEWHERE.event);
  }

  #show(response: NotesResponse): void {
    const { runs, annotations, layouts, metrics, alerts } = response;
    // Derived metrics are among the tags, which are loaded again after a change.
    if (this.#response && JSON.stringify(metrics) !== JSON.stringify(this.metrics)) {
      this.#liveLog.reload();
    }
    this.#response = response;
    this.metrics = metrics;
    this.#runs = runs;
    this.annotations = annotations;
    this.layouts = layouts.map(({ name, categories }) => ({ name, categories: categories ?? [] }));
    this.alerts = alerts;
  }
}

function applyChange(note: RunNote, change: RunNoteChange): RunNote {
  const { add_labels: added = [], remove_labels: removed = [] } = change;
  const fields = Object.fromEntries(Object.entries(change).filter(([name]) => name in note));
  const labels = (change.labels ?? note.labels).filter((label) => !removed.includes(label));
  return { ...note, ...fields, labels: [...new Set([...labels, ...added])] };
}

const MAX_SEEN_IDS = 200;

/** Alert rules and the alerts that they fired. */
export class Alerts {
  /** Why the last change of the rules was not saved. */
  error = $state.raw<Problem | null>(null);

  readonly #notes: LogNotes;
  readonly #seenIds: Param<readonly string[]>;

  readonly rules = $derived.by(() => this.#notes.alerts.rules);
  /** Newest first. */
  readonly fired = $derived.by(() => this.#notes.alerts.alerts);
  /** Whether alerts are also sent to a webhook. */
  readonly webhook = $derived.by(() => this.#notes.alerts.webhook);
  /** Number of alerts that were not yet shown in this browser. */
  readonly unseenCount = $derived.by(
    () =>
      this.fired.filter(({ id, resolved }) => !resolved && !this.#seenIds.value.includes(id))
        .length,
  );

  constructor(notes: LogNotes, preferences: Preferences) {
    this.#notes = notes;
    this.#seenIds = preferences.param('alerts-seen', list, []);
  }

  markSeen(): void {
    this.#seenIds.set(this.fired.map(({ id }) => id).slice(0, MAX_SEEN_IDS));
  }

  add(rule: Omit<AlertRule, 'id'>): Promise<void> {
    return this.#save([...this.#listEditable(), { ...rule, id: makeId() }]);
  }

  remove(id: string): Promise<void> {
    return this.#save(this.#listEditable().filter((rule) => rule.id !== id));
  }

  /** Return all rules except those set on the server's command line. */
  #listEditable(): AlertRule[] {
    return this.rules
      .filter((rule) => !rule.fixed)
      .map(({ id, tag, kind, value, goal }) => ({ id, tag, kind, value, goal }));
  }

  async #save(rules: readonly AlertRule[]): Promise<void> {
    try {
      await this.#notes.change('PUT alerts/rules', rules);
      this.error = null;
    } catch (error) {
      this.error = toProblem(error);
    }
  }
}

/** `crypto.randomUUID` exists only on localhost and over HTTPS. */
function makeId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('');
}

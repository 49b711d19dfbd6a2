import {
  addAnnotation,
  type AlertRule,
  type ChartLayout,
  deleteAnnotation,
  getNotes,
  type LayoutCategory,
  type NotesResponse,
  type RunNote,
  type RunNoteChange,
  saveAlertRules,
  saveLayout,
  saveMetric,
  updateRunNotes,
} from '../api/client';
import { ServerError, toProblem } from '../api/errors';
import { RequestScheduler } from '../api/request-scheduler';
import type { DerivedMetric, Problem } from '../api/schemas';
import { list } from '../lib/codecs';
import type { Annotation, Notes, Param, Preferences } from '../plugin/context';
import type { LiveLog } from './live-log.svelte';

const NOTES_REFRESH_MS = 500;
const NOT_FOUND = 404;

const CONFLICT = 409;

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
  #revision = -1;
  readonly #liveLog: LiveLog;
  readonly #refresh = new RequestScheduler(() => this.#load(), NOTES_REFRESH_MS);

  constructor(liveLog: LiveLog) {
    this.#liveLog = liveLog;
    liveLog.on('notes', (body) => {
      // The server also announces the changes of this page.
      if ((body as { revision: number }).revision !== this.#revision) this.refresh();
    });
    liveLog.on('alert', () => this.refresh());
  }

  /** Notes of runs by name; another object after every change. */
  get runs(): Readonly<Record<string, RunNote>> {
    return this.#runs;
  }

  refresh(): void {
    this.#refresh.schedule();
  }

  /** Change the notes of runs at once, and undo the change if the server cannot save it. */
  async updateRuns(names: readonly string[], change: RunNoteChange): Promise<void> {
    const before = this.#runs;
    const changed = { ...before };
    for (const name of names) changed[name] = applyChange(before[name] ?? EMPTY_NOTE, change);
    this.#runs = changed;
    await this.#save(updateRunNotes(names, change), () => (this.#runs = before));
  }

  async editRuns(names: readonly string[], change: RunNoteChange): Promise<void> {
    await this.#edit(updateRunNotes(names, change));
  }

  async addAnnotation(step: number, text: string, tag: string | null): Promise<void> {
    await this.#save(addAnnotation(step, text, tag));
  }

  async deleteAnnotation(id: string): Promise<void> {
    await this.#save(deleteAnnotation(id));
  }

  async saveLayout(name: string, categories: readonly LayoutCategory[] | null): Promise<void> {
    this.#set(await saveLayout(name, categories));
  }

  async saveMetric(
    name: string,
    expression: string | null,
    expected: string | null,
  ): Promise<void> {
    await this.#edit(saveMetric(name, expression, expected));
  }

  /** Wait for a change that may conflict with one of another user; then load what is stored. */
  async #edit(response: Promise<NotesResponse>): Promise<void> {
    try {
      this.#set(await response);
    } catch (error) {
      if (error instanceof ServerError && error.status === CONFLICT) await this.#load();
      throw error;
    }
  }

  async #save(response: Promise<NotesResponse>, undo?: () => void): Promise<void> {
    try {
      this.#set(await response);
      this.error = null;
    } catch (error) {
      undo?.();
      this.error = toProblem(error);
    }
  }

  async #load(): Promise<void> {
    try {
      this.#set(await getNotes());
    } catch (error) {
      const problem = toProblem(error);
      // A static export has no notes; the connection status reports an unreachable server.
      if (error instanceof ServerError && error.status !== NOT_FOUND) this.error = problem;
    }
  }

  #set({ runs, annotations, layouts, metrics, alerts, revision }: NotesResponse): void {
    // Derived metrics are among the tags, which are loaded again after a change.
    if (this.#revision >= 0 && JSON.stringify(metrics) !== JSON.stringify(this.metrics)) {
      this.#liveLog.reload();
    }
    this.metrics = metrics;
    this.#runs = runs;
    this.annotations = annotations;
    this.layouts = layouts;
    this.alerts = alerts;
    this.#revision = revision;
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
      await saveAlertRules(rules);
      this.error = null;
    } catch (error) {
      this.error = toProblem(error);
    }
    this.#notes.refresh();
  }
}

/** `crypto.randomUUID` exists only on localhost and over HTTPS. */
function makeId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('');
}

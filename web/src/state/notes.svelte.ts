import {
  addAnnotation,
  type AlertRule,
  type ChartLayout,
  deleteAnnotation,
  getNotes,
  type LayoutCategory,
  type NotesResponse,
  type RunNote,
  saveAlertRules,
  saveLayout,
  updateRunNotes,
} from '../api/client';
import { ServerError, toProblem } from '../api/errors';
import { RequestScheduler } from '../api/request-scheduler';
import type { Problem } from '../api/schemas';
import { list } from '../lib/codecs';
import type { Annotation, Notes } from '../plugin/context';
import { liveLog } from './live-log.svelte';
import { preferences } from './preferences.svelte';

const NOTES_REFRESH_MS = 500;
const NOT_FOUND = 404;

export const EMPTY_NOTE: RunNote = { note: '', alias: '', hidden: false, color: '', labels: [] };

const NO_ALERTS: NotesResponse['alerts'] = { rules: [], alerts: [], webhook: false };

/** What users say about runs and steps; the server keeps it beside the log. */
class LogNotes implements Notes {
  annotations = $state.raw<readonly Annotation[]>([]);
  layouts = $state.raw<readonly ChartLayout[]>([]);
  alerts = $state.raw(NO_ALERTS);
  /** Why the last change was not kept. */
  error = $state.raw<Problem | null>(null);

  #runs = $state.raw<Readonly<Record<string, RunNote>>>({});
  #revision = -1;
  readonly #loading = new RequestScheduler(() => this.#load(), NOTES_REFRESH_MS);

  constructor() {
    liveLog.on('notes', (body) => this.#catchUp((body as { revision: number }).revision));
    liveLog.on('alert', () => this.refresh());
  }

  /** Everything that is said of runs, by name; another object whenever it has changed. */
  get runs(): Readonly<Record<string, RunNote>> {
    return this.#runs;
  }

  /** Asks the server for what others may have said. */
  refresh(): void {
    this.#loading.schedule();
  }

  /** The page shows the change at once, and takes it back if the server cannot keep it. */
  async updateRuns(names: readonly string[], change: Partial<RunNote>): Promise<void> {
    const before = this.#runs;
    const changed = { ...before };
    for (const name of names) changed[name] = { ...(before[name] ?? EMPTY_NOTE), ...change };
    this.#runs = changed;
    await this.#keep(updateRunNotes(names, change), () => (this.#runs = before));
  }

  async addAnnotation(step: number, text: string, tag: string | null): Promise<void> {
    await this.#keep(addAnnotation(step, text, tag));
  }

  async deleteAnnotation(id: string): Promise<void> {
    await this.#keep(deleteAnnotation(id));
  }

  /** Who lays charts out is told at once where they could not be kept. */
  async saveLayout(name: string, categories: readonly LayoutCategory[] | null): Promise<void> {
    this.#take(await saveLayout(name, categories));
  }

  /** What this page has said itself comes back as news. */
  #catchUp(revision: number): void {
    if (revision !== this.#revision) this.refresh();
  }

  async #keep(answer: Promise<NotesResponse>, takeBack?: () => void): Promise<void> {
    try {
      this.#take(await answer);
      this.error = null;
    } catch (error) {
      takeBack?.();
      this.error = toProblem(error);
    }
  }

  async #load(): Promise<void> {
    try {
      this.#take(await getNotes());
    } catch (error) {
      // A copy of a board has no notes; that the server is gone is told by the live mark.
      if (error instanceof ServerError && error.status !== NOT_FOUND) this.error = error.problem;
    }
  }

  #take({ runs, annotations, layouts, alerts, revision }: NotesResponse): void {
    this.#runs = runs;
    this.annotations = annotations;
    this.layouts = layouts;
    this.alerts = alerts;
    this.#revision = revision;
  }
}

export const notes = new LogNotes();

const MAX_SEEN_IDS = 200;

/** The rules that watch the log, and what they have found. */
class Alerts {
  /** Why the last change of the rules was not kept. */
  error = $state.raw<Problem | null>(null);

  readonly #seen = preferences.param('alerts-seen', list, []);

  readonly rules = $derived(notes.alerts.rules);
  /** The newest first. */
  readonly fired = $derived(notes.alerts.alerts);
  /** Whether alarms are also sent somewhere. */
  readonly webhook = $derived(notes.alerts.webhook);
  /** How many nobody has looked at in this browser. */
  readonly unseenCount = $derived(
    this.fired.filter(({ id, resolved }) => !resolved && !this.#seen.value.includes(id)).length,
  );

  markSeen(): void {
    this.#seen.set(this.fired.map(({ id }) => id).slice(0, MAX_SEEN_IDS));
  }

  add(rule: Omit<AlertRule, 'id'>): Promise<void> {
    return this.#save([...this.#own(), { ...rule, id: makeId() }]);
  }

  remove(id: string): Promise<void> {
    return this.#save(this.#own().filter((rule) => rule.id !== id));
  }

  /** Those that may be changed; others were given on the server's command line. */
  #own(): AlertRule[] {
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
    notes.refresh();
  }
}

/** Not `crypto.randomUUID`, which a page has only from this machine or over HTTPS. */
function makeId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('');
}

export const alerts = new Alerts();

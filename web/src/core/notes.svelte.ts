import { ApiError, problemOf } from '../api/client';
import {
  annotate,
  changeRuns,
  getNotes,
  keepLayout,
  type LayoutCategory,
  type NamedLayout,
  type NotesAnswer,
  removeAnnotation,
  type RunNote,
} from '../api/notes';
import type { Problem } from '../api/types';
import { Pace } from '../base/pace';
import type { Annotation, Notes } from '../plugin/context';
import { board } from './board.svelte';

const PAUSE_MS = 500;
const NOT_FOUND = 404;

export const NOTHING_SAID: RunNote = { note: '', alias: '', hidden: false, color: '', labels: [] };

const NO_ALERTS: NotesAnswer['alerts'] = { rules: [], alerts: [], webhook: false };

/** What users say about runs and steps; the server keeps it beside the log. */
class SideNotes implements Notes {
  annotations = $state.raw<readonly Annotation[]>([]);
  layouts = $state.raw<readonly NamedLayout[]>([]);
  alerts = $state.raw(NO_ALERTS);
  /** Why the last change was not kept. */
  problem = $state.raw<Problem | null>(null);

  #runs = $state.raw<Readonly<Record<string, RunNote>>>({});
  #revision = -1;
  readonly #loading = new Pace(() => this.#load(), PAUSE_MS);

  constructor() {
    board.on('notes', (body) => this.#catchUp((body as { revision: number }).revision));
    board.on('alert', () => this.refresh());
  }

  /** Everything that is said of runs, by name; another object whenever it has changed. */
  get runs(): Readonly<Record<string, RunNote>> {
    return this.#runs;
  }

  /** Asks the server for what others may have said. */
  refresh(): void {
    this.#loading.ask();
  }

  /** The page shows the change at once, and takes it back if the server cannot keep it. */
  async changeRuns(names: readonly string[], change: Partial<RunNote>): Promise<void> {
    const before = this.#runs;
    const changed = { ...before };
    for (const name of names) changed[name] = { ...(before[name] ?? NOTHING_SAID), ...change };
    this.#runs = changed;
    await this.#keep(changeRuns(names, change), () => (this.#runs = before));
  }

  async annotate(step: number, text: string, tag: string | null): Promise<void> {
    await this.#keep(annotate(step, text, tag));
  }

  async removeAnnotation(id: string): Promise<void> {
    await this.#keep(removeAnnotation(id));
  }

  /** Who lays charts out is told at once where they could not be kept. */
  async keepLayout(name: string, categories: readonly LayoutCategory[] | null): Promise<void> {
    this.#take(await keepLayout(name, categories));
  }

  /** What this page has said itself comes back as news. */
  #catchUp(revision: number): void {
    if (revision !== this.#revision) this.refresh();
  }

  async #keep(answer: Promise<NotesAnswer>, takeBack?: () => void): Promise<void> {
    try {
      this.#take(await answer);
      this.problem = null;
    } catch (error) {
      takeBack?.();
      this.problem = problemOf(error);
    }
  }

  async #load(): Promise<void> {
    try {
      this.#take(await getNotes());
    } catch (error) {
      // A copy of a board has no notes; that the server is gone is told by the live mark.
      if (error instanceof ApiError && error.status !== NOT_FOUND) this.problem = error.problem;
    }
  }

  #take({ runs, annotations, layouts, alerts, revision }: NotesAnswer): void {
    this.#runs = runs;
    this.annotations = annotations;
    this.layouts = layouts;
    this.alerts = alerts;
    this.#revision = revision;
  }
}

export const notes = new SideNotes();

import { toProblem } from '../../api/errors';
import type { Problem, ReportBlock } from '../../api/schemas';
import {
  type BoardDocument,
  type DocumentResponse,
  getDocument,
  isConflict,
  isEqual,
  isForbidden,
  isMissing,
  listCards,
  mergeDocuments,
  saveDocument,
} from '../../cards/workspace/document';

const SAVE_DELAY_MS = 600;
const MAX_UNDO = 100;
/** Changes of the same thing within this time are undone together, as of a slider. */
const SAME_CHANGE_MS = 1000;

/** What someone else saved while this page had changes of the same things. */
export interface DocumentConflict {
  readonly theirs: BoardDocument;
  readonly revision: number;
}

/** The requests, which tests replace. */
export interface DocumentRequests {
  get(id: string): Promise<DocumentResponse>;
  save(document: BoardDocument, expected: number, keepVersion: boolean): Promise<DocumentResponse>;
}

const SERVER: DocumentRequests = { get: getDocument, save: saveDocument };

/**
 * One open document: changes are shown at once, saved after a moment, can be undone, and are merged
 * with those that others made meanwhile.
 */
export class DocumentSync {
  readonly id: string;
  document = $state.raw<BoardDocument | null>(null);
  /** The text of a report as of the last saved state. */
  blocks = $state.raw<readonly ReportBlock[]>([]);
  /** The texts of cards as of the last saved state, by their Markdown. */
  notes = $state.raw<ReadonlyMap<string, readonly ReportBlock[]>>(new Map());
  conflict = $state.raw<DocumentConflict | null>(null);
  error = $state.raw<Problem | null>(null);
  /** The document was deleted, or the link is wrong. */
  isMissing = $state(false);
  /** The server does not accept changes of this user. */
  isForbidden = $state(false);
  isSaving = $state(false);
  /** When it was last saved, in seconds. */
  modified = $state(0);
  #undo = $state.raw<readonly BoardDocument[]>([]);
  #redo = $state.raw<readonly BoardDocument[]>([]);
  /** The last state that the server is known to have. */
  #base = $state.raw<BoardDocument | null>(null);

  #revision = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #lastChange = { key: '', time: 0 };
  readonly #requests: DocumentRequests;

  readonly hasChanges: boolean = $derived.by(
    () => this.document !== null && this.document !== this.#base,
  );
  readonly canUndo: boolean = $derived.by(() => this.#undo.length > 0);
  readonly canRedo: boolean = $derived.by(() => this.#redo.length > 0);

  constructor(id: string, requests: DocumentRequests = SERVER) {
    this.id = id;
    this.#requests = requests;
  }

  get revision(): number {
    return this.#revision;
  }

  /** Load the stored state; changes that are not saved yet are merged with it. */
  async load(): Promise<void> {
    try {
      const response = await this.#requests.get(this.id);
      this.error = null;
      this.isMissing = false;
      if (response.revision === this.#revision && this.document) return;
      if (this.hasChanges) this.#merge(response);
      else this.#accept(response);
    } catch (error) {
      this.isMissing = isMissing(error);
      this.error = toProblem(error);
    }
  }

  /** Load the document if a later revision is stored. Reactive: it waits for changes being saved. */
  catchUp(revision: number): void {
    if (!this.document || this.isSaving || this.conflict) return;
    if (revision > this.#revision) void this.load();
  }

  /**
   * Change the document. Quick changes with the same key are one step of undo.
   */
  edit(change: (document: BoardDocument) => BoardDocument, key = ''): void {
    const before = this.document;
    if (!before || this.isForbidden) return;
    const changed = change(before);
    if (isEqual(changed, before)) return;
    const now = Date.now();
    const isSameChange =
      key !== '' && key === this.#lastChange.key && now - this.#lastChange.time < SAME_CHANGE_MS;
    this.#lastChange = { key, time: now };
    if (!isSameChange) this.#undo = [...this.#undo, before].slice(-MAX_UNDO);
    this.#redo = [];
    this.document = changed;
    this.#scheduleSave();
  }

  undo(): void {
    const previous = this.#undo.at(-1);
    if (!previous || !this.document) return;
    this.#redo = [...this.#redo, this.document];
    this.#undo = this.#undo.slice(0, -1);
    this.#show(previous);
  }

  redo(): void {
    const next = this.#redo.at(-1);
    if (!next || !this.document) return;
    this.#undo = [...this.#undo, this.document];
    this.#redo = this.#redo.slice(0, -1);
    this.#show(next);
  }

  /** Save now; `keepVersion` makes the state that is replaced a version. */
  async save(keepVersion = false): Promise<void> {
    clearTimeout(this.#timer);
    const { document } = this;
    if (!document || this.isSaving || this.conflict || !this.hasChanges) return;
    this.isSaving = true;
    try {
      const response = await this.#requests.save(document, this.#revision, keepVersion);
      this.#base = this.document === document ? document : response.document;
      this.#setStored(response);
      this.error = null;
    } catch (error) {
      await this.#handleError(error);
    } finally {
      this.isSaving = false;
    }
    // Changes that were made meanwhile, and changes after a merge.
    if (this.hasChanges && !this.error && !this.conflict) this.#scheduleSave();
  }

  /** Replace what the other user saved; it stays in the list of versions. */
  keepMine(): void {
    if (!this.conflict) return;
    this.#base = this.conflict.theirs;
    this.#revision = this.conflict.revision;
    this.conflict = null;
    void this.save(true);
  }

  /** Show what the other user saved; undo restores the own changes. */
  useTheirs(): void {
    const { conflict, document } = this;
    if (!conflict || !document) return;
    this.#undo = [...this.#carryOver(this.#undo, conflict.theirs), document];
    this.#redo = [];
    this.document = this.#base = conflict.theirs;
    this.#revision = conflict.revision;
    this.conflict = null;
  }

  retry(): void {
    this.error = null;
    if (this.hasChanges) void this.save();
    else void this.load();
  }

  /** Save what is not saved yet, and stop. */
  close(): void {
    void this.save();
    clearTimeout(this.#timer);
  }

  #show(document: BoardDocument): void {
    this.#lastChange = { key: '', time: 0 };
    this.document = document;
    this.#scheduleSave();
  }

  #scheduleSave(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.save(), SAVE_DELAY_MS);
  }

  async #handleError(error: unknown): Promise<void> {
    if (isConflict(error)) {
      try {
        this.#merge(await this.#requests.get(this.id));
        return;
      } catch (failure) {
        this.error = toProblem(failure);
        return;
      }
    }
    if (isForbidden(error)) {
      this.isForbidden = true;
      this.document = this.#base;
      this.#undo = this.#redo = [];
    }
    this.error = toProblem(error);
  }

  #merge(response: DocumentResponse): void {
    const [base, mine] = [this.#base, this.document];
    if (!base || !mine) return this.#accept(response);
    const merged = mergeDocuments(base, mine, response.document);
    if (merged === null) {
      this.conflict = { theirs: response.document, revision: response.revision };
      return;
    }
    this.#accept(response);
    this.document = merged;
    if (this.hasChanges) this.#scheduleSave();
  }

  /** Add a change of someone else to states of undo, so that undoing does not take it back. */
  #carryOver(states: readonly BoardDocument[], theirs: BoardDocument): readonly BoardDocument[] {
    const base = this.#base;
    if (!base) return [];
    const carried: BoardDocument[] = [];
    for (const state of states.toReversed()) {
      const merged = mergeDocuments(base, state, theirs);
      if (!merged) break; // it cannot be undone without losing their change
      carried.unshift(merged);
    }
    return carried;
  }

  #accept(response: DocumentResponse): void {
    const { document } = response;
    this.#undo = this.#carryOver(this.#undo, document);
    this.#redo = this.#carryOver(this.#redo, document);
    this.document = this.#base = document;
    this.#setStored(response);
    this.conflict = null;
  }

  #setStored({ document, revision, modified, blocks, notes }: DocumentResponse): void {
    this.#revision = revision;
    this.modified = modified;
    this.blocks = blocks;
    const cards = new Map(listCards(document).map(({ id, target }) => [id, target]));
    this.notes = new Map(
      Object.entries(notes).map(([id, rendered]) => [cards.get(id) ?? '', rendered]),
    );
  }
}

import { createContext } from 'svelte';

import { apiRequest } from '../../api/transport';
import type { Query } from '../../api/create-query.svelte';
import { toProblem } from '../../api/errors';
import { defineQuery } from '../../api/query-definition';
import type { Problem } from '../../api/schemas';
import { downloadBlob, toFileName } from '../../cards/export';
import {
  addCard,
  type BoardCard,
  type BoardDocument,
  createCard,
  createDocument,
  createSection,
  deleteDocument,
  type DocumentKind,
  type DocumentListResponse,
  findCard,
  listCards,
  makeId,
  saveDocument,
  setCardSetting,
  setDefaultDocument,
  setKindSetting,
} from '../../cards/workspace/document';
import * as m from '../../catalog/workspaces';
import { flag, optionalText, text } from '../../lib/codecs';
import { groupByPrefix } from '../../lib/grouping';
import { packNames } from '../../lib/run-selection';
import type { Context, Param } from '../../plugin/context';
import { type CardKind, createCardContext, type SettingsStore } from './card-context.svelte';
import { DocumentSync } from './document-sync.svelte';

const MAX_TEMPLATE_CARDS = 100;
const NO_DOCUMENTS: DocumentListResponse = { documents: [], default: null };
/** The server announces changes of documents, its own and those by other servers of the log. */
const documentsQuery = defineQuery('GET workspaces/documents', {
  scope: { event: 'dashboard' },
  minRefreshMs: 200,
});
/** On a board, each card has its own step slider, and `steps` has its step. */
const FIXED_SETTINGS: Readonly<Record<string, string>> = { 'sync-steps': '0' };
/** Settings of the run table that open another page. */
const RUN_LINKS = ['rt-run', 'rt-compare'];

/** Whose settings the panel shows: those of one card, or of all cards of a kind. */
export type SettingsTarget =
  { readonly card: string } | { readonly kind: string } | { readonly kind: null };

/** The state of the Workspaces dashboard: the list of documents, and the open one. */
export class WorkspaceState {
  readonly context: Context;
  /** Why an action failed. */
  error = $state.raw<Problem | null>(null);
  sync = $state.raw<DocumentSync | null>(null);
  settingsTarget = $state.raw<SettingsTarget | null>(null);
  /** Cards that bulk actions apply to. */
  selected = $state.raw<ReadonlySet<string>>(new Set());
  /** A report is shown as its source, with a preview. */
  readonly isEditing: Param<boolean>;
  readonly #chosen: Param<string>;
  readonly #fullScreen: Param<string | null>;
  readonly #list: Query<DocumentListResponse>;

  readonly documents: DocumentListResponse = $derived.by(() => this.#list.data ?? NO_DOCUMENTS);
  readonly isReady: boolean = $derived.by(
    () => this.#list.data !== undefined || this.#list.error !== null || !this.#hasList,
  );
  /** Why the list cannot be loaded. */
  readonly listError: Problem | null = $derived.by(() => this.#list.error?.problem ?? null);
  readonly document: BoardDocument | null = $derived.by(() => this.sync?.document ?? null);
  readonly canEdit: boolean = $derived.by(
    () => !this.context.isReadOnly && this.sync?.isForbidden !== true,
  );
  /** The document in the URL, else the default one, else the first. */
  readonly currentId: string | null = $derived.by(() => {
    if (this.#chosen.value !== '') return this.#chosen.value;
    const { documents, default: first } = this.documents;
    return first ?? documents[0]?.id ?? null;
  });
  readonly fullScreenCard: BoardCard | undefined = $derived.by(() => {
    const id = this.#fullScreen.value;
    return this.document && id !== null ? findCard(this.document, id) : undefined;
  });

  constructor(context: Context) {
    this.context = context;
    this.#chosen = context.url.param('workspace', text, '');
    this.#fullScreen = context.url.param('card', optionalText, null);
    this.isEditing = context.url.param('edit', flag, false);
    this.#list = context.query(documentsQuery, () => (this.#hasList ? {} : null));
  }

  /** A static export without documents has no list of them. */
  get #hasList(): boolean {
    return this.context.supports(documentsQuery.route);
  }

  /** Load the documents and follow the open one; call it where effects can be created. */
  startEffects(): void {
    $effect(() => {
      // A document in the URL is loaded together with the list.
      const id = this.#chosen.value !== '' || this.isReady ? this.currentId : null;
      if (id === null) {
        this.sync = null;
        return undefined;
      }
      const sync = new DocumentSync(id);
      this.sync = sync;
      this.selected = new Set();
      this.settingsTarget = null;
      void sync.load();
      return () => sync.close();
    });
    $effect(() => {
      const row = this.documents.documents.find(({ id }) => id === this.sync?.id);
      if (row) this.sync?.catchUp(row.revision);
    });
    $effect(() => {
      const warn = (event: BeforeUnloadEvent): void => {
        if (this.sync?.hasChanges) event.preventDefault();
      };
      addEventListener('beforeunload', warn);
      return () => removeEventListener('beforeunload', warn);
    });
  }

  /** Load the list again. */
  refresh(): void {
    if (this.#list.error) this.#list.retry();
    else this.context.queries.invalidate(documentsQuery);
  }

  edit(change: (document: BoardDocument) => BoardDocument, key = ''): void {
    if (this.canEdit) this.sync?.edit(change, key);
  }

  // ---- documents

  open(id: string): void {
    this.#chosen.set(id, 'push');
  }

  async create(kind: DocumentKind, name: string): Promise<void> {
    await this.#saveNew(createDocument(kind, name));
    if (kind === 'report') this.isEditing.set(true);
  }

  /** Create a workspace with a chart for every scalar tag, in sections by prefix. */
  async createFromScalars(): Promise<void> {
    const rows = this.context.tags.rows.filter(({ kind }) => kind === 'scalar');
    const groups = groupByPrefix(rows.slice(0, MAX_TEMPLATE_CARDS));
    const sections = groups.map(({ title, items }) => ({
      ...createSection(title),
      cards: items.map(({ tag }) => createCard({ kind: 'scalars', target: tag })),
    }));
    await this.#saveNew({ ...createDocument('workspace', m.defaultName), sections });
  }

  async duplicate(): Promise<void> {
    const { document } = this;
    if (document)
      await this.#saveNew({ ...document, id: makeId(), name: m.copyOf({ name: document.name }) });
  }

  async delete(): Promise<void> {
    const { sync } = this;
    if (!sync) return;
    await this.#try(async () => {
      await sync.save();
      this.#setDocuments(await deleteDocument(sync.id, sync.revision));
      this.#chosen.set('', 'push');
    });
  }

  async setDefault(id: string | null): Promise<void> {
    await this.#try(async () => {
      this.#setDocuments(await setDefaultDocument(id));
    });
  }

  async #saveNew(document: BoardDocument): Promise<void> {
    await this.#try(async () => {
      await saveDocument(document, 0);
      this.refresh();
      this.open(document.id);
    });
  }

  #setDocuments(response: DocumentListResponse): void {
    this.context.queries.set(documentsQuery, {}, response);
  }

  async #try(action: () => Promise<void>): Promise<void> {
    this.error = null;
    try {
      await action();
    } catch (error) {
      this.error = toProblem(error);
    }
  }

  // ---- cards

  /** Add a card of a kind; in a report, its runs are fixed. Return its id. */
  add(kind: CardKind, target: string, sectionId: string | null = null): string {
    const card = createCard({
      kind: kind.name,
      target,
      settings: kind.name === 'hparams' ? { hp: target } : {},
      runs:
        this.document?.kind === 'report' ? this.context.runs.visible.map(({ name }) => name) : null,
    });
    this.edit((document) => addCard(document, card, sectionId));
    return card.id;
  }

  toggleSelected(id: string): void {
    const selected = new Set(this.selected);
    if (!selected.delete(id)) selected.add(id);
    this.selected = selected;
  }

  setFullScreen(id: string | null): void {
    this.#fullScreen.set(id, 'push');
  }

  /** Create the context of a card; `getCard` is reactive. */
  createCardContext(kind: CardKind, getCard: () => BoardCard): Context {
    return createCardContext(this.context, {
      apiName: kind.apiName,
      runs: () => getCard().runs,
      settings: {
        read: (name) => this.#readCardSetting(getCard(), name),
        write: (name, value) => this.#writeCardSetting(getCard(), name, value),
      },
    });
  }

  /** Create the context of the settings of all cards of a kind. */
  createKindContext(kind: CardKind): Context {
    const settings: SettingsStore = {
      read: (name) => FIXED_SETTINGS[name] ?? this.document?.settings[kind.name]?.[name],
      write: (name, value) =>
        this.edit(
          (document) => setKindSetting(document, kind.name, name, value),
          `${kind.name}/${name}`,
        ),
    };
    return createCardContext(this.context, { apiName: kind.apiName, runs: () => null, settings });
  }

  #readCardSetting({ id, kind, settings }: BoardCard, name: string): string | undefined {
    // The card of a grid is in full screen if its own id is in this parameter.
    if (name === 'card') return this.#fullScreen.value === id ? id : undefined;
    return FIXED_SETTINGS[name] ?? settings[name] ?? this.document?.settings[kind]?.[name];
  }

  #writeCardSetting({ id }: BoardCard, name: string, value: string | undefined): void {
    if (name === 'card') this.setFullScreen(value === undefined ? null : id);
    else if (name === 'tab') this.#openTab(value ?? '');
    else if (RUN_LINKS.includes(name)) {
      this.context.url.param(name, text, '').set(value ?? '');
      this.#openTab('runs');
    } else if (!(name in FIXED_SETTINGS))
      this.edit((document) => setCardSetting(document, id, name, value), `${id}/${name}`);
  }

  #openTab(name: string): void {
    this.context.url.param('tab', text, '').set(name, 'push');
  }
}

export const [getWorkspace, setWorkspace] = createContext<WorkspaceState>();

/** Return the query of a page that shows a document, with all runs that its cards need. */
export function makeExportQuery(
  document: BoardDocument,
  search: string,
  visibleRuns: readonly string[],
): string {
  const query = new URLSearchParams(search);
  const pinned = listCards(document).flatMap(({ runs }) => runs ?? []);
  const runs = new Set([...visibleRuns, ...pinned]);
  for (const name of ['runs', 'runs-regex', 'runs-query', 'edit', 'card']) query.delete(name);
  query.set('tab', 'workspaces');
  query.set('workspace', document.id);
  query.set('selected', `none;+${packNames(runs)}`);
  return query.toString();
}

/** Download a document as one HTML file, with the data of its cards. */
export async function exportReport(
  document: BoardDocument,
  workspace: WorkspaceState,
): Promise<void> {
  const visible = workspace.context.runs.visible.map(({ name }) => name);
  const body = { view: `?${makeExportQuery(document, location.search, visible)}` };
  try {
    const page = await apiRequest<Blob>('api/v1/export', { method: 'POST', body, isFile: true });
    downloadBlob(page, `${toFileName(document.name)}.html`);
  } catch (error) {
    workspace.error = toProblem(error);
  }
}

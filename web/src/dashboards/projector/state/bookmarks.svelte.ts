import { isAbort, problemOf } from '../../../api/client';
import type { Problem } from '../../../api/types';
import type { BookmarksAnswer, ForeignBookmark } from '../data/answers';
import { decodeMask, encodeMask, type Mask } from '../data/rows';
import type { Projector } from '../projector.svelte';
import { adoptSettings } from './foreign';
import { queryOf } from './query';
import type { Params } from './params';

/** A view that can be looked at again. */
export interface Bookmark {
  readonly name: string;
  /** Those of others cannot be taken away. */
  readonly isOwn: boolean;
  restore(): void;
}

/** What is kept: every setting, and which points are chosen, alone and hidden. */
interface Kept {
  readonly settings: Partial<Record<keyof Params, unknown>>;
  readonly rows: number;
  readonly selected: string | null;
  readonly only: string | null;
  readonly hidden: string | null;
}

/** Not part of a view: which embedding it is of, and what the address has of its rows. */
const LEFT_OUT = ['embedding', 'panel', 'chosen', 'only', 'hidden'];

/** Views of the embedding that somebody kept, here or with TensorBoard. */
export class Bookmarks {
  problem = $state.raw<Problem | null>(null);
  readonly #projector: Projector;
  #answer = $state.raw<BookmarksAnswer | null>(null);

  constructor(projector: Projector) {
    this.#projector = projector;
  }

  readonly all = $derived.by<readonly Bookmark[]>(() => [
    ...(this.#answer?.saved ?? []).map(({ name, state }) => ({
      ...{ name, isOwn: true },
      restore: () => this.#restore(JSON.parse(state) as Kept),
    })),
    ...(this.#answer?.bookmarks ?? []).map((bookmark) => ({
      ...{ name: bookmark.label || 'A view of TensorBoard', isOwn: false },
      restore: () => this.#adopt(bookmark),
    })),
  ]);

  async load(): Promise<void> {
    const { catalog, api, context } = this.#projector;
    if (!catalog.reference || context.isStatic) return;
    try {
      this.#answer = await api.get(`bookmarks?${queryOf({ ...catalog.reference })}`);
      this.problem = null;
    } catch (error) {
      if (!isAbort(error)) this.problem = problemOf(error);
    }
  }

  keep(name: string): Promise<void> {
    return this.#send(name, JSON.stringify(this.#describe()));
  }

  drop(name: string): Promise<void> {
    return this.#send(name, null);
  }

  async #send(name: string, state: string | null): Promise<void> {
    const { catalog, api } = this.#projector;
    try {
      await api.post('bookmark', { id: catalog.reference?.id, name, state });
      await this.load();
    } catch (error) {
      if (!isAbort(error)) this.problem = problemOf(error);
    }
  }

  #describe(): Kept {
    const { params, choice, layouts } = this.#projector;
    const settings = Object.fromEntries(
      Object.entries(params)
        .filter(([name]) => !LEFT_OUT.includes(name))
        .map(([name, param]) => [name, param.value]),
    );
    const [selected, only, hidden] = [choice.selected, choice.only, choice.hidden].map(encodeMask);
    return {
      ...{ settings, rows: layouts.total },
      ...{ selected: selected ?? null, only: only ?? null, hidden: hidden ?? null },
    };
  }

  #restore(kept: Kept): void {
    const { params, choice } = this.#projector;
    const wanted = kept.settings as Record<string, unknown>;
    for (const [name, param] of Object.entries(params)) {
      if (name in wanted && !LEFT_OUT.includes(name)) param.set(wanted[name] as never);
    }
    const read = (text: string | null): Mask | null =>
      text === null ? null : decodeMask(text, kept.rows);
    choice.selected = read(kept.selected);
    choice.only = read(kept.only);
    choice.hidden = read(kept.hidden);
  }

  /** As much of a view of TensorBoard as there is here, too. */
  #adopt(bookmark: ForeignBookmark): void {
    const { params, choice } = this.#projector;
    adoptSettings(bookmark, params);
    choice.showAll();
    if (bookmark.filteredPoints) {
      choice.select(bookmark.filteredPoints);
      choice.isolate();
    }
    choice.select(bookmark.selectedPoints);
  }
}

import { isAbort, problemOf } from '../../../api/client';
import type { Problem } from '../../../api/types';
import type { Api } from '../../../plugin/context';
import type { About, GroupsAnswer } from '../data/answers';
import { type KnownGroups, NO_GROUPS, withGroups } from '../data/lookups';
import { type GraphReference, queryOf } from './reference';

/** So many nodes of a group are asked for at first, and again each time somebody wants more. */
export const PAGE = 200;
/** The server sends at most so many nodes of a group. */
const MAX_NODES = 2000;

/** What is known of the graph that is looked at. */
export class Groups {
  known = $state.raw<KnownGroups>(NO_GROUPS);
  about = $state.raw<About | null>(null);
  problem = $state.raw<Problem | null>(null);
  loading = $state(false);
  readonly #api: Api;
  #asking = new AbortController();
  #reference: GraphReference | null = null;
  #fold = true;
  /** Of which groups more was asked for, and how many pages. */
  #pages: Readonly<Record<string, number>> = {};

  constructor(api: Api) {
    this.#api = api;
  }

  /**
   * Forgets the graph before and begins with another. `choose` is told what had better be open and
   * says what is to be, so that the first picture is whole.
   */
  async begin(
    reference: GraphReference,
    fold: boolean,
    choose: (first: readonly string[]) => readonly string[],
  ): Promise<void> {
    this.#asking.abort();
    this.#asking = new AbortController();
    [this.#reference, this.#fold] = [reference, fold];
    this.#pages = {};
    [this.known, this.about, this.problem] = [NO_GROUPS, null, null];
    const { signal } = this.#asking;
    const about = await this.#tell(reference);
    if (about && !signal.aborted) await this.#askRoot(choose(about.open));
  }

  /** Asks for those of some groups that are not known. */
  async require(groups: readonly string[]): Promise<void> {
    const missing = groups.filter((id) => !this.known.has(id));
    if (missing.length > 0) await this.#ask(missing);
  }

  /** More of a group than its first nodes. */
  async more(group: string): Promise<void> {
    this.#pages = { ...this.#pages, [group]: (this.#pages[group] ?? 1) + 1 };
    await this.#ask([group]);
  }

  /** Whether the server would send more of a group. */
  hasMore(group: string): boolean {
    const known = this.known.get(group);
    return known !== undefined && known.nodes.length < Math.min(known.total, MAX_NODES);
  }

  async again(): Promise<void> {
    if (this.#reference) await this.begin(this.#reference, this.#fold, (first) => first);
  }

  stop(): void {
    this.#asking.abort();
  }

  /** A group of an old link that is no more must not keep the rest from being seen. */
  async #askRoot(open: readonly string[]): Promise<void> {
    await this.#ask(['', ...open]);
    if (this.problem && open.length > 0) await this.#ask(['']);
  }

  async #ask(groups: readonly string[]): Promise<void> {
    const { signal } = this.#asking;
    const wanted = Math.max(...groups.map((group) => PAGE * (this.#pages[group] ?? 1)));
    const most = Math.min(wanted, MAX_NODES);
    const body = { ...this.#reference, groups, fold: this.#fold, most };
    await this.#attempt(async () => {
      const answer = await this.#api.post<GroupsAnswer>('groups', body, signal);
      if (!signal.aborted) this.known = withGroups(this.known, answer.groups);
    });
  }

  async #tell(reference: GraphReference): Promise<About | null> {
    const { signal } = this.#asking;
    await this.#attempt(async () => {
      const about = await this.#api.get<About>(`about?${queryOf(reference)}`, signal);
      if (!signal.aborted) this.about = about;
    });
    return this.about;
  }

  async #attempt(work: () => Promise<void>): Promise<void> {
    this.loading = true;
    try {
      await work();
      this.problem = null;
    } catch (error) {
      if (!isAbort(error)) this.problem = problemOf(error);
    } finally {
      this.loading = false;
    }
  }
}

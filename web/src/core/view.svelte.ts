import type { Filter } from '../base/filter';
import { formatView, parseView, type ViewState } from '../base/view';

/** What is seen, always the same as what the address says. */
class View {
  #state = $state.raw<ViewState>(parseView(location.search));

  constructor() {
    addEventListener('popstate', () => (this.#state = parseView(location.search)));
  }

  get run(): string | null {
    return this.#state.run;
  }

  get runFilter(): Filter {
    return this.#state.runFilter;
  }

  get tagFilter(): Filter {
    return this.#state.tagFilter;
  }

  get kind(): string | null {
    return this.#state.kind;
  }

  get folded(): readonly string[] {
    return this.#state.folded;
  }

  /** Another run is a step that the back button undoes. */
  showRun(run: string | null): void {
    if (run !== this.run) this.#change({ run }, 'push');
  }

  filterRuns(runFilter: Filter): void {
    this.#change({ runFilter }, 'replace');
  }

  filterTags(tagFilter: Filter): void {
    this.#change({ tagFilter }, 'replace');
  }

  filterKind(kind: string | null): void {
    this.#change({ kind }, 'replace');
  }

  toggleFold(title: string): void {
    const others = this.folded.filter((folded) => folded !== title);
    const folded = others.length === this.folded.length ? [...others, title] : others;
    this.#change({ folded }, 'replace');
  }

  #change(part: Partial<ViewState>, how: 'push' | 'replace'): void {
    this.#state = { ...this.#state, ...part };
    const address = location.pathname + formatView(this.#state) + location.hash;
    if (how === 'push') history.pushState(null, '', address);
    else history.replaceState(null, '', address);
  }
}

export const view = new View();

import * as codec from '../base/codec';
import { Haystack } from '../base/fuzzy';
import type { Command } from '../plugin/context';
import { address } from './address.svelte';
import { board } from './board.svelte';
import { commands } from './commands.svelte';
import { dashboards } from './dashboards.svelte';
import { runs } from './runs/runs.svelte';
import { tags } from './tags.svelte';

const MOST_RUNS = 8;
const MOST_TAGS = 8;

/** What the command box finds without the help of a dashboard. */
class Search {
  // Made once for many keystrokes, and only when somebody types.
  readonly #runs = $derived(new Haystack(board.runs, (run) => run.name));
  readonly #tags = $derived(new Haystack(tags.rows, (row) => row.tag));
  readonly #dashboards = $derived(new Haystack(dashboards.entries, (entry) => entry.title));
  readonly #tagText = address.param('tags', codec.text, '');
  readonly #tagRegex = address.param('tags-re', codec.flag, false);

  register(): () => void {
    const finders = [this.#findDashboards, this.#findTags, this.#findRuns];
    const stops = finders.map((find) => commands.register(find.bind(this)));
    return () => stops.forEach((stop) => stop());
  }

  #findDashboards(query: string): Command[] {
    return this.#dashboards.find(query, dashboards.entries.length).map(({ item }) => ({
      label: item.title,
      kind: 'Dashboard',
      ...(item.active ? {} : { hint: 'nothing logged yet' }),
      run: () => dashboards.open(item.name),
    }));
  }

  #findRuns(query: string): Command[] {
    if (!query.trim()) return [];
    return this.#runs.find(query, MOST_RUNS).map(({ item }) => ({
      label: item.name,
      kind: 'Run',
      hint: 'show only this run',
      run: () => runs.solo(item.name),
    }));
  }

  #findTags(query: string): Command[] {
    if (!query.trim()) return [];
    return this.#tags.find(query, MOST_TAGS).map(({ item }) => ({
      label: item.tag,
      kind: 'Tag',
      hint: item.kind,
      run: () => this.showTag(item.tag),
    }));
  }

  /** In the first dashboard that can show it; the one with all tags shows any. */
  showTag(tag: string): void {
    const plugin = tags.rows.find((row) => row.tag === tag)?.plugin ?? '';
    const entry = dashboards.findFor(plugin);
    if (entry) dashboards.open(entry.name);
    this.#tagText.set(tag, 'push');
    this.#tagRegex.set(false, 'push');
  }
}

export const search = new Search();

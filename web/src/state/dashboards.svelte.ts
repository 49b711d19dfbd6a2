import { prefetch, getDashboards } from '../api/client';
import type { DashboardRow } from '../api/schemas';
import { text } from '../lib/codecs';
import { RequestScheduler } from '../api/request-scheduler';
import type { DashboardModule } from '../plugin/context';
import { type BuiltInDashboard, loadDashboardModule } from '../plugin/registry';
import { pageUrl } from './url.svelte';
import { liveLog, tags } from './live-log.svelte';
import { notes } from './notes.svelte';

const DASHBOARDS_REFRESH_MS = 3000;
const MAX_FLAT_TABS = 9;

/** A dashboard that can be opened. */
export interface DashboardEntry {
  readonly name: string;
  readonly title: string;
  readonly apiName: string;
  /** Names of the plugins whose data it shows; null: all. */
  readonly plugins: readonly string[] | null;
  /** Whether there is anything in the log that it can show. */
  readonly active: boolean;
  /** Whether it is of use without data of its own. */
  readonly isEditor: boolean;
  /** Lines of code that would give it something to show. */
  readonly example: string | null;
  readonly load: () => Promise<DashboardModule>;
}

/** The dashboards of the page and of the server, and which of them is open. */
class Dashboards {
  #builtIn = $state.raw<readonly BuiltInDashboard[]>([]);
  #rows = $state.raw<readonly DashboardRow[]>([]);
  #asked = $state(false);
  readonly #refreshing = new RequestScheduler(() => this.refresh(), DASHBOARDS_REFRESH_MS);
  readonly #tab = pageUrl.param('tab', text, '');

  readonly #plugins = $derived(new Set(tags.rows.map((row) => row.plugin)));
  /** Those that show anything come last: they are where one looks when there is no better place. */
  readonly entries = $derived<readonly DashboardEntry[]>([
    ...this.#builtIn.filter(({ isAlwaysActive }) => !isAlwaysActive).map((one) => this.#ours(one)),
    ...this.#rows.flatMap((row) => this.#theirs(row)),
    ...this.#builtIn.filter(({ isAlwaysActive }) => isAlwaysActive).map((one) => this.#ours(one)),
  ]);
  readonly active = $derived(this.entries.filter(({ active }) => active));
  readonly inactive = $derived(this.entries.filter(({ active }) => !active));
  /** Whether the log holds something to show that needs no run, as a file of vectors does not. */
  readonly hasDataWithoutRuns = $derived(
    this.active.some(
      ({ plugins, isEditor }) => plugins !== null && plugins.length > 0 && !isEditor,
    ),
  );
  /** Those with something to show, and the one that is open. */
  readonly tabs = $derived(
    this.entries.filter((entry) => entry.active || entry.name === this.current?.name),
  );
  /** More than stand at ease in the bar beside everything else. */
  readonly isCrowded = $derived(this.tabs.length > MAX_FLAT_TABS);
  /** Undefined until it is known what there is to show. */
  readonly current = $derived(
    this.entries.find(({ name }) => name === this.#tab.value) ?? this.#findFirst(),
  );

  async start(builtIn: readonly BuiltInDashboard[]): Promise<void> {
    this.#builtIn = builtIn;
    this.#fetchAhead();
    await this.refresh();
    this.#asked = true;
  }

  async refresh(): Promise<void> {
    try {
      this.#rows = await getDashboards();
    } catch {
      // Tags tell as well which dashboards have something to show.
    }
  }

  /** What is no tag, as a profile is not, only the server knows of. */
  scheduleRefresh(): void {
    this.#refreshing.schedule();
  }

  open(name: string): void {
    this.#tab.set(name, 'push');
  }

  /**
   * Open the dashboard of a link that was clicked; false for a click that is the browser's to
   * handle, such as one that opens a new window or tab.
   */
  openFromClick(event: MouseEvent, name: string): boolean {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return false;
    event.preventDefault();
    this.open(name);
    return true;
  }

  /** The first dashboard that shows what the plugin logs. */
  findByPlugin(plugin: string): DashboardEntry | undefined {
    return this.entries.find(({ plugins }) => plugins?.includes(plugin) ?? true);
  }

  makeHref(name: string): string {
    return pageUrl.makeHref({ tab: name });
  }

  /** What the one that will most likely be opened needs comes while the log is asked about. */
  #fetchAhead(): void {
    const likely = this.#builtIn.find(({ name }) => name === this.#tab.value) ?? this.#builtIn[0];
    const first = likely?.prefetch?.(pageUrl.search);
    if (likely && first) prefetch(`api/v1/${likely.apiName ?? likely.name}/${first}`);
    // Who opens it then is told what went wrong.
    likely?.load().catch(() => undefined);
  }

  /** One that shows anything is not opened while a better one may still come. */
  #findFirst(): DashboardEntry | undefined {
    const isKnown = tags.rows.length > 0 && !liveLog.isLoading;
    return this.#asked ? this.active.find(({ plugins }) => plugins !== null || isKnown) : undefined;
  }

  #ours({
    name,
    title,
    apiName = name,
    isAlwaysActive = false,
    isEditor = false,
    ...rest
  }: BuiltInDashboard): DashboardEntry {
    // One that asks another's server half shows the same data.
    const row = this.#rows.find((row) => row.name === apiName);
    const plugins = isAlwaysActive ? null : (row?.plugins ?? [apiName]);
    // What is made in the page are layouts, and they are kept among the notes.
    const isMade = isEditor && notes.layouts.length > 0;
    const active = isAlwaysActive || isMade || this.#hasData(row, apiName);
    const { load, example = null } = rest;
    return { name, title, apiName, plugins, active, isEditor, example, load };
  }

  #theirs(row: DashboardRow): DashboardEntry[] {
    const { name, title, plugins, module_url: url } = row;
    if (url === null || this.#builtIn.some((one) => one.name === name)) return [];
    const active = this.#hasData(row, name);
    const load = (): Promise<DashboardModule> => loadDashboardModule(url);
    return [{ name, title, apiName: name, plugins, active, isEditor: false, example: null, load }];
  }

  #hasData(row: DashboardRow | undefined, name: string): boolean {
    const plugins = row?.plugins ?? [name];
    return row?.active === true || plugins.some((plugin) => this.#plugins.has(plugin));
  }
}

export const dashboards = new Dashboards();

import { getTransport } from '../api/transport';
import { QueryObserver } from '../api/create-query.svelte';
import { defineQuery } from '../api/query-definition';
import type { DashboardRow } from '../api/schemas';
import { text } from '../lib/codecs';
import type { DashboardModule, Param } from '../plugin/context';
import {
  type BuiltInDashboard,
  DASHBOARD_GROUPS,
  type DashboardGroup,
  loadDashboardModule,
} from '../plugin/registry';
import type { LiveLog, LogTags } from './live-log.svelte';
import type { LogNotes } from './notes.svelte';
import type { PageUrl } from './url.svelte';

/** Some data, such as profiles, is not in the list of tags. */
const dashboardsQuery = defineQuery('GET dashboards', { scope: 'log', minRefreshMs: 3000 });

/** A dashboard that can be opened. */
export interface DashboardEntry {
  readonly name: string;
  readonly title: string;
  readonly group: DashboardGroup;
  readonly apiName: string;
  /** Names of the plugins whose data it shows; null: all. */
  readonly plugins: readonly string[] | null;
  /** Whether the log has data for it. */
  readonly active: boolean;
  /** Whether it is useful without data of its own. */
  readonly isEditor: boolean;
  readonly opensFiles: boolean;
  /** Whether it is shown without the runs panel. */
  readonly isFullWidth: boolean;
  /** Load code that logs data for it; null if there is no example. */
  readonly loadExample: BuiltInDashboard['loadExample'] | null;
  readonly load: () => Promise<DashboardModule>;
}

/** Dashboards of one group; at least one of them has data or is open. */
export interface DashboardTabGroup {
  readonly group: DashboardGroup;
  readonly tabs: readonly DashboardEntry[];
}

/** The built-in dashboards, those of plugins, and which one is open. */
export class Dashboards {
  readonly #url: PageUrl;
  readonly #liveLog: LiveLog;
  readonly #tags: LogTags;
  readonly #notes: LogNotes;
  readonly #builtIn: readonly BuiltInDashboard[];
  readonly #tab: Param<string>;
  #rows = $state.raw<readonly DashboardRow[]>([]);
  /** Whether the server has said which dashboards have data, or could not. */
  isReady = $state(false);

  readonly #loggedPlugins = $derived.by(() => new Set(this.#tags.rows.map((row) => row.plugin)));

  /** By group, and within a group in the order of registration; independent of the data. */
  readonly entries: readonly DashboardEntry[] = $derived.by(() => {
    const entries = [
      ...this.#builtIn.map((dashboard) => this.#describeBuiltIn(dashboard)),
      ...this.#rows.flatMap((row) => this.#describePlugin(row)),
    ];
    return DASHBOARD_GROUPS.flatMap((group) => entries.filter((entry) => entry.group === group));
  });
  readonly active = $derived.by(() => this.entries.filter(({ active }) => active));
  readonly inactive = $derived.by(() => this.entries.filter(({ active }) => !active));
  /** Whether the log has data that does not belong to a run, such as an embedding file. */
  readonly hasDataWithoutRuns = $derived.by(() =>
    this.active.some(
      ({ plugins, isEditor, opensFiles }) =>
        opensFiles || (plugins !== null && plugins.length > 0 && !isEditor),
    ),
  );
  /** Undefined until the dashboards are known. */
  readonly current = $derived.by(
    () => this.entries.find(({ name }) => name === this.#tab.value) ?? this.#findDefault(),
  );
  /** Dashboards with data, and the open one. */
  readonly tabs = $derived.by(() =>
    this.entries.filter((entry) => entry.active || entry.name === this.current?.name),
  );
  readonly tabGroups: readonly DashboardTabGroup[] = $derived.by(() =>
    DASHBOARD_GROUPS.map((group) => ({
      group,
      tabs: this.tabs.filter((entry) => entry.group === group),
    })).filter(({ tabs }) => tabs.length > 0),
  );

  constructor(
    builtIn: readonly BuiltInDashboard[],
    url: PageUrl,
    liveLog: LiveLog,
    tags: LogTags,
    notes: LogNotes,
  ) {
    this.#builtIn = builtIn;
    this.#url = url;
    this.#liveLog = liveLog;
    this.#tags = tags;
    this.#notes = notes;
    this.#tab = url.param('tab', text, '');
  }

  start(): void {
    this.#prefetchLikely();
    new QueryObserver(this.#liveLog.queries, dashboardsQuery, {}, ({ data, error }) => {
      if (data) this.#rows = data;
      // After an error the tags also tell which built-in dashboards have data.
      if (data || error) this.isReady = true;
    }).setRequest({});
  }

  open(name: string): void {
    this.#tab.set(name, 'push');
  }

  /**
   * Open the dashboard of a link that was clicked; return false if the browser handles the click,
   * for example to open a new tab.
   */
  openFromClick(event: MouseEvent, name: string): boolean {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return false;
    event.preventDefault();
    this.open(name);
    return true;
  }

  /** Return the first dashboard that shows data of the plugin. */
  findByPlugin(plugin: string): DashboardEntry | undefined {
    return (
      this.entries.find(({ plugins }) => plugins?.includes(plugin)) ??
      this.entries.find(({ plugins }) => plugins === null)
    );
  }

  makeHref(name: string): string {
    return this.#url.makeHref({ tab: name });
  }

  /** Load code and first responses of the dashboard that is most likely opened, in parallel. */
  #prefetchLikely(): void {
    const likely = this.#builtIn.find(({ name }) => name === this.#tab.value) ?? this.#builtIn[0];
    for (const path of likely?.prefetch?.(this.#url.search) ?? [])
      getTransport().prefetch?.(`api/v1/${likely?.apiName ?? likely?.name ?? ''}/${path}`);
    // An error is shown when the dashboard is opened.
    likely?.load().catch(() => undefined);
  }

  /** A dashboard for all kinds of data is the default only if no other one has data. */
  #findDefault(): DashboardEntry | undefined {
    if (!this.isReady) return undefined;
    const isComplete = this.#tags.rows.length > 0 && !this.#liveLog.isLoading;
    return (
      this.active.find(({ plugins }) => plugins !== null) ??
      (isComplete ? this.active[0] : undefined)
    );
  }

  #describeBuiltIn(dashboard: BuiltInDashboard): DashboardEntry {
    const { name, title, group, load, loadExample = null } = dashboard;
    const { apiName = name, isAlwaysActive = false, isEditor = false } = dashboard;
    const { opensFiles = false, isFullWidth = false } = dashboard;
    // A dashboard that uses the API of another one shows the same data.
    const row = this.#rows.find((row) => row.name === apiName);
    const plugins = isAlwaysActive ? null : (row?.plugins ?? [apiName]);
    // Layouts made in the page are stored with the notes.
    const hasLayouts = isEditor && this.#notes.layouts.length > 0;
    const active = isAlwaysActive || hasLayouts || this.#hasData(row, apiName);
    return {
      name,
      title,
      group,
      apiName,
      plugins,
      active,
      isEditor,
      opensFiles,
      isFullWidth,
      loadExample,
      load,
    };
  }

  #describePlugin(row: DashboardRow): DashboardEntry[] {
    const { name, title, plugins, module_url: url } = row;
    if (url === null || this.#builtIn.some((dashboard) => dashboard.name === name)) return [];
    return [
      {
        name,
        title,
        group: 'plugins',
        apiName: name,
        plugins,
        active: this.#hasData(row, name),
        isEditor: false,
        opensFiles: false,
        isFullWidth: false,
        loadExample: null,
        load: () => loadDashboardModule(url),
      },
    ];
  }

  #hasData(row: DashboardRow | undefined, name: string): boolean {
    const plugins = row?.plugins ?? [name];
    return row?.active === true || plugins.some((plugin) => this.#loggedPlugins.has(plugin));
  }
}

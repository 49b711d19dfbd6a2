import { askAhead, getDashboards } from '../api/client';
import type { DashboardRow } from '../api/types';
import { text } from '../base/codec';
import { Pace } from '../base/pace';
import type { Module } from '../plugin/context';
import { type BuiltIn, loadModule } from '../plugin/registry';
import { address } from './address.svelte';
import { board } from './board.svelte';
import { notes } from './notes.svelte';
import { tags } from './tags.svelte';

const PAUSE_MS = 3000;
const AT_EASE = 9;

/** A dashboard that can be opened. */
export interface Entry {
  readonly name: string;
  readonly title: string;
  readonly server: string;
  /** Names of the plugins whose data it shows; null: all. */
  readonly plugins: readonly string[] | null;
  /** Whether there is anything in the log that it can show. */
  readonly active: boolean;
  /** Whether it is of use without data of its own. */
  readonly makes: boolean;
  /** Lines of code that would give it something to show. */
  readonly example: string | null;
  readonly load: () => Promise<Module>;
}

/** The dashboards of the page and of the server, and which of them is open. */
class Dashboards {
  #builtIn = $state.raw<readonly BuiltIn[]>([]);
  #rows = $state.raw<readonly DashboardRow[]>([]);
  #asked = $state(false);
  readonly #refreshing = new Pace(() => this.refresh(), PAUSE_MS);
  readonly #tab = address.param('tab', text, '');

  readonly #plugins = $derived(new Set(tags.rows.map((row) => row.plugin)));
  /** Those that show anything come last: they are where one looks when there is no better place. */
  readonly entries = $derived<readonly Entry[]>([
    ...this.#builtIn.filter(({ always }) => !always).map((one) => this.#ours(one)),
    ...this.#rows.flatMap((row) => this.#theirs(row)),
    ...this.#builtIn.filter(({ always }) => always).map((one) => this.#ours(one)),
  ]);
  readonly active = $derived(this.entries.filter(({ active }) => active));
  readonly inactive = $derived(this.entries.filter(({ active }) => !active));
  /** Whether the log holds something to show that needs no run, as a file of vectors does not. */
  readonly needNoRun = $derived(
    this.active.some(({ plugins, makes }) => plugins !== null && plugins.length > 0 && !makes),
  );
  /** Those with something to show, and the one that is open. */
  readonly tabs = $derived(
    this.entries.filter((entry) => entry.active || entry.name === this.current?.name),
  );
  /** More than stand at ease in the bar beside everything else. */
  readonly areMany = $derived(this.tabs.length > AT_EASE);
  /** Undefined until it is known what there is to show. */
  readonly current = $derived(
    this.entries.find(({ name }) => name === this.#tab.value) ?? this.#findFirst(),
  );

  async start(builtIn: readonly BuiltIn[]): Promise<void> {
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
  refreshSoon(): void {
    this.#refreshing.ask();
  }

  open(name: string): void {
    this.#tab.set(name, 'push');
  }

  /**
   * Open the dashboard of a link that was clicked; false for a click that is the browser's to
   * handle, such as one that opens a new window or tab.
   */
  follow(event: MouseEvent, name: string): boolean {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return false;
    event.preventDefault();
    this.open(name);
    return true;
  }

  /** The first dashboard that shows what the plugin logs. */
  findFor(plugin: string): Entry | undefined {
    return this.entries.find(({ plugins }) => plugins?.includes(plugin) ?? true);
  }

  hrefOf(name: string): string {
    return address.hrefWith({ tab: name });
  }

  /** What the one that will most likely be opened needs comes while the log is asked about. */
  #fetchAhead(): void {
    const likely = this.#builtIn.find(({ name }) => name === this.#tab.value) ?? this.#builtIn[0];
    const first = likely?.ahead?.(address.search);
    if (likely && first) askAhead(`api/v1/${likely.server ?? likely.name}/${first}`);
    // Who opens it then is told what went wrong.
    likely?.load().catch(() => undefined);
  }

  /** One that shows anything is not opened while a better one may still come. */
  #findFirst(): Entry | undefined {
    const isKnown = tags.rows.length > 0 && !board.loading;
    return this.#asked ? this.active.find(({ plugins }) => plugins !== null || isKnown) : undefined;
  }

  #ours({ name, title, server = name, always = false, makes = false, ...rest }: BuiltIn): Entry {
    // One that asks another's server half shows the same data.
    const row = this.#rows.find((row) => row.name === server);
    const plugins = always ? null : (row?.plugins ?? [server]);
    // What is made in the page are layouts, and they are kept among the notes.
    const isMade = makes && notes.layouts.length > 0;
    const active = always || isMade || this.#hasData(row, server);
    const { load, example = null } = rest;
    return { name, title, server, plugins, active, makes, example, load };
  }

  #theirs(row: DashboardRow): Entry[] {
    const { name, title, plugins, module_url: url } = row;
    if (url === null || this.#builtIn.some((one) => one.name === name)) return [];
    const active = this.#hasData(row, name);
    const load = (): Promise<Module> => loadModule(url);
    return [{ name, title, server: name, plugins, active, makes: false, example: null, load }];
  }

  #hasData(row: DashboardRow | undefined, name: string): boolean {
    const plugins = row?.plugins ?? [name];
    return row?.active === true || plugins.some((plugin) => this.#plugins.has(plugin));
  }
}

export const dashboards = new Dashboards();

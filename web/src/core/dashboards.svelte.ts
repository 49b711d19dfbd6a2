import { getDashboards } from '../api/client';
import type { DashboardRow } from '../api/types';
import { text } from '../base/codec';
import type { Module } from '../plugin/context';
import { type BuiltIn, loadModule } from '../plugin/registry';
import { address } from './address.svelte';
import { tags } from './tags.svelte';

/** A dashboard that can be opened. */
export interface Entry {
  readonly name: string;
  readonly title: string;
  readonly server: string;
  /** Whether there is anything in the log that it can show. */
  readonly active: boolean;
  readonly load: () => Promise<Module>;
}

/** The dashboards of the page and of the server, and which of them is open. */
class Dashboards {
  #builtIn = $state.raw<readonly BuiltIn[]>([]);
  #rows = $state.raw<readonly DashboardRow[]>([]);
  #asked = $state(false);
  readonly #tab = address.param('tab', text, '');

  readonly #plugins = $derived(new Set(tags.rows.map((row) => row.plugin)));
  readonly entries = $derived<readonly Entry[]>([
    ...this.#builtIn.map((one) => this.#ours(one)),
    ...this.#rows.flatMap((row) => this.#theirs(row)),
  ]);
  readonly active = $derived(this.entries.filter(({ active }) => active));
  /** Undefined until it is known what there is to show. */
  readonly current = $derived.by(() => {
    const chosen = this.entries.find(({ name }) => name === this.#tab.value);
    return chosen ?? (this.#asked ? this.active[0] : undefined);
  });

  async start(builtIn: readonly BuiltIn[]): Promise<void> {
    this.#builtIn = builtIn;
    try {
      this.#rows = await getDashboards();
    } catch {
      // Tags tell as well which dashboards have something to show.
    }
    this.#asked = true;
  }

  open(name: string): void {
    this.#tab.set(name, 'push');
  }

  hrefOf(name: string): string {
    return address.hrefWith({ tab: name });
  }

  #ours({ name, title, server = name, always = false, load }: BuiltIn): Entry {
    const row = this.#rows.find((row) => row.name === name);
    return { name, title, server, load, active: always || this.#hasData(row, name) };
  }

  #theirs(row: DashboardRow): Entry[] {
    const url = row.module_url;
    if (url === null || this.#builtIn.some(({ name }) => name === row.name)) return [];
    const { name, title } = row;
    return [
      {
        name,
        title,
        server: name,
        active: this.#hasData(row, name),
        load: () => loadModule(url),
      },
    ];
  }

  #hasData(row: DashboardRow | undefined, name: string): boolean {
    const plugins = row?.plugins ?? [name];
    return row?.active === true || plugins.some((plugin) => this.#plugins.has(plugin));
  }
}

export const dashboards = new Dashboards();

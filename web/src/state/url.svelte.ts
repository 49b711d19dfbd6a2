import { untrack } from 'svelte';

import type { Codec } from '../lib/codecs';
import type { Param, UrlState } from '../plugin/context';

type HistoryMode = 'push' | 'replace';

/** Browsers limit changes of the URL to about a hundred in 30 s, which a slider would exceed. */
const REPLACE_DELAY_MS = 120;

/**
 * The query string of the page's URL, in sync with the view in both directions. Parameters that no
 * open dashboard reads are kept, so that a link restores the state of closed dashboards too.
 */
export class PageUrl implements UrlState {
  readonly #values = new Map<string, string>();
  /** Notified of a change of each parameter. One signal for all would update the whole page. */
  readonly #changes = new Map<string, Signal>();
  readonly #anyChange = new Signal();
  #pending: HistoryMode | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    this.#read();
    // TensorBoard's links have the dashboard after the hash sign.
    const tab = /^#(\w+)/.exec(location.hash)?.[1];
    if (tab && !this.#values.has('tab')) this.#store('tab', tab);
  }

  /** Follow the browser's Back and Forward until the returned function is called. */
  start(): () => void {
    const listeners = new AbortController();
    const { signal } = listeners;
    addEventListener('popstate', () => this.#read(), { signal });
    addEventListener('pagehide', () => this.#write(), { signal });
    return () => {
      listeners.abort();
      this.#cancelWrite();
    };
  }

  param<Value>(name: string, codec: Codec<Value>, fallback: Value): Param<Value> {
    if (!this.#changes.has(name)) this.#changes.set(name, new Signal());
    return new UrlParam(this, name, codec, fallback);
  }

  /** The query string of the current view, without the question mark. */
  get search(): string {
    this.#anyChange.track();
    return formatQuery(this.#values);
  }

  get(name: string): string | undefined {
    (this.#changes.get(name) ?? this.#anyChange).track();
    return this.#values.get(name);
  }

  /** Undefined removes the parameter. Changes in one microtask become one history entry. */
  set(name: string, text: string | undefined, mode: HistoryMode): void {
    if (text === this.#values.get(name)) return;
    this.#store(name, text);
    this.#scheduleWrite(mode);
  }

  /** Remove all parameters except the open dashboard. */
  clear(): void {
    for (const name of [...this.#values.keys()])
      if (name !== 'tab') this.set(name, undefined, 'push');
  }

  /** Return the URL of the same view with other values, for links. */
  makeHref(values: Readonly<Record<string, string | undefined>>): string {
    this.#anyChange.track();
    const kept = [...this.#values].filter(([name]) => !(name in values));
    const changed = Object.entries(values).filter(
      (entry): entry is [string, string] => entry[1] !== undefined,
    );
    return `?${formatQuery([...kept, ...changed])}`;
  }

  #scheduleWrite(mode: HistoryMode): void {
    if (mode === 'push' && this.#pending !== 'push') {
      clearTimeout(this.#timer);
      this.#pending = 'push';
      queueMicrotask(() => this.#write());
    } else if (this.#pending === null) {
      this.#pending = 'replace';
      this.#timer = setTimeout(() => this.#write(), REPLACE_DELAY_MS);
    }
  }

  #write(): void {
    if (this.#pending === null) return;
    const query = formatQuery(this.#values);
    const url = location.pathname + (query ? `?${query}` : '') + location.hash;
    try {
      if (this.#pending === 'push') history.pushState(null, '', url);
      else history.replaceState(null, '', url);
    } catch {
      // The URL of a page opened from a file cannot be changed; the view is right anyway.
    }
    this.#cancelWrite();
  }

  #read(): void {
    this.#cancelWrite();
    const query = new URLSearchParams(location.search);
    for (const name of [...this.#values.keys()]) if (!query.has(name)) this.#store(name, undefined);
    for (const [name, text] of query) this.#store(name, text);
  }

  #store(name: string, text: string | undefined): void {
    if (text === undefined) this.#values.delete(name);
    else this.#values.set(name, text);
    this.#changes.get(name)?.notify();
    this.#anyChange.notify();
  }

  #cancelWrite(): void {
    clearTimeout(this.#timer);
    this.#pending = null;
  }
}

class Signal {
  #version = $state(0);

  /** Run the current effect or derived value again after `notify`. */
  track(): void {
    void this.#version;
  }

  notify(): void {
    this.#version = untrack(() => this.#version) + 1;
  }
}

class UrlParam<Value> implements Param<Value> {
  readonly #url: PageUrl;
  readonly #name: string;
  readonly #codec: Codec<Value>;
  readonly #fallback: Value;
  // Two steps, so that changes of other parameters do not notify readers of this one.
  readonly #text = $derived.by(() => this.#url.get(this.#name));
  readonly #value = $derived.by(() =>
    this.#text === undefined ? this.#fallback : this.#codec.parse(this.#text),
  );

  constructor(url: PageUrl, name: string, codec: Codec<Value>, fallback: Value) {
    this.#url = url;
    this.#name = name;
    this.#codec = codec;
    this.#fallback = fallback;
  }

  get value(): Value {
    return this.#value;
  }

  set(value: Value, mode: HistoryMode = 'replace'): void {
    const text = this.#codec.format(value);
    const isFallback = text === this.#codec.format(this.#fallback);
    this.#url.set(this.#name, isFallback ? undefined : text, mode);
  }
}

/** Commas and slashes are allowed in a query string and are easier to read unescaped. */
function formatQuery(values: Iterable<[string, string]>): string {
  return new URLSearchParams([...values]).toString().replace(/%2F/g, '/').replace(/%2C/g, ',');
}

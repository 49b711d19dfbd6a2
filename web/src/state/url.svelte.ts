import { SvelteMap } from 'svelte/reactivity';

import type { Codec } from '../lib/codecs';
import type { UrlState, Param } from '../plugin/context';

type HistoryMode = 'push' | 'replace';

/** Browsers refuse to change an address hundreds of times in a few seconds, as a slider would. */
const REPLACE_DELAY_MS = 120;

/**
 * The query of the page's address, always the same as what is seen. Texts are kept under their
 * key whether somebody reads them or not, so that a link keeps what a closed dashboard had set.
 */
class PageUrl implements UrlState {
  readonly #texts = new SvelteMap<string, string>();
  #pending: HistoryMode | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    this.#read();
    addEventListener('popstate', () => this.#read());
    addEventListener('pagehide', () => this.#write());
  }

  param<Value>(name: string, codec: Codec<Value>, fallback: Value): Param<Value> {
    return new UrlParam(this, name, codec, fallback);
  }

  /** All of the query, as it would be written now. */
  get search(): string {
    return formatQuery(this.#texts);
  }

  get(name: string): string | undefined {
    return this.#texts.get(name);
  }

  /** Undefined takes the key out. Changes made in one go become one step of the history. */
  set(name: string, text: string | undefined, how: HistoryMode): void {
    if (text === this.#texts.get(name)) return;
    if (text === undefined) this.#texts.delete(name);
    else this.#texts.set(name, text);
    this.#schedule(how);
  }

  /** The plain view of the dashboard that is open. */
  clear(): void {
    for (const name of [...this.#texts.keys()])
      if (name !== 'tab') this.set(name, undefined, 'push');
  }

  /** The address of the same view with other values, for links. */
  makeHref(values: Readonly<Record<string, string | undefined>>): string {
    const kept = [...this.#texts].filter(([name]) => !(name in values));
    const changed = Object.entries(values).filter(
      (entry): entry is [string, string] => entry[1] !== undefined,
    );
    return `?${formatQuery([...kept, ...changed])}`;
  }

  #schedule(how: HistoryMode): void {
    if (how === 'push' && this.#pending !== 'push') {
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
    const query = formatQuery(this.#texts);
    const address = location.pathname + (query ? `?${query}` : '') + location.hash;
    try {
      if (this.#pending === 'push') history.pushState(null, '', address);
      else history.replaceState(null, '', address);
    } catch {
      // A page opened as a file has an address that may not be changed; the view is the same.
    }
    this.#forgetPending();
  }

  #read(): void {
    this.#forgetPending();
    const query = Object.fromEntries(new URLSearchParams(location.search));
    for (const name of [...this.#texts.keys()]) if (!(name in query)) this.#texts.delete(name);
    for (const [name, text] of Object.entries(query)) this.#texts.set(name, text);
  }

  #forgetPending(): void {
    clearTimeout(this.#timer);
    this.#pending = null;
  }
}

class UrlParam<Value> implements Param<Value> {
  readonly #address: PageUrl;
  readonly #name: string;
  readonly #codec: Codec<Value>;
  readonly #fallback: Value;
  // In two steps, so that readers are not woken by a change of some other key.
  readonly #text = $derived.by(() => this.#address.get(this.#name));
  readonly #value = $derived.by(() =>
    this.#text === undefined ? this.#fallback : this.#codec.parse(this.#text),
  );

  constructor(address: PageUrl, name: string, codec: Codec<Value>, fallback: Value) {
    this.#address = address;
    this.#name = name;
    this.#codec = codec;
    this.#fallback = fallback;
  }

  get value(): Value {
    return this.#value;
  }

  set(value: Value, how: HistoryMode = 'replace'): void {
    const text = this.#codec.format(value);
    const isFallback = text === this.#codec.format(this.#fallback);
    this.#address.set(this.#name, isFallback ? undefined : text, how);
  }
}

/** Commas and slashes are fine in a query and are easier to read as they are. */
function formatQuery(texts: Iterable<[string, string]>): string {
  return new URLSearchParams([...texts]).toString().replace(/%2F/g, '/').replace(/%2C/g, ',');
}

export const pageUrl = new PageUrl();

import { vi } from 'vitest';

type Listener = (event: unknown) => void;

/** Counts and calls listeners, as `window` and media queries have them. */
class FakeTarget {
  readonly listeners = new Map<string, Set<Listener>>();

  addEventListener(name: string, listener: Listener, options?: { signal?: AbortSignal }): void {
    const listeners = this.listeners.get(name) ?? new Set();
    this.listeners.set(name, listeners.add(listener));
    options?.signal?.addEventListener('abort', () => listeners.delete(listener));
  }

  dispatch(name: string, event: unknown = {}): void {
    for (const listener of [...(this.listeners.get(name) ?? [])]) listener(event);
  }

  get listenerCount(): number {
    return [...this.listeners.values()].reduce((sum, { size }) => sum + size, 0);
  }
}

/** The parts of a browser that the state of the page uses. Installed as globals for one test. */
export class BrowserStub extends FakeTarget {
  readonly storage = new Map<string, string>();
  readonly media = new FakeTarget();
  readonly location = { pathname: '/', search: '', hash: '', href: 'http://localhost/' };
  /** Query strings of the history entries, the current one included. */
  readonly entries: string[];
  #index = 0;

  constructor(search = '') {
    super();
    this.location.search = search;
    this.entries = [search];
    const globals = {
      location: this.location,
      history: {
        pushState: (_: unknown, __: string, url: string) => this.#push(url),
        replaceState: (_: unknown, __: string, url: string) => this.#replace(url),
      },
      localStorage: {
        getItem: (key: string) => this.storage.get(key) ?? null,
        setItem: (key: string, value: string) => void this.storage.set(key, value),
        removeItem: (key: string) => void this.storage.delete(key),
      },
      matchMedia: () => ({
        matches: false,
        addEventListener: this.media.addEventListener.bind(this.media),
      }),
      addEventListener: this.addEventListener.bind(this),
      document: { documentElement: { dataset: {} }, hidden: false, addEventListener: () => {} },
      self: this,
      top: this,
    };
    for (const [name, value] of Object.entries(globals)) vi.stubGlobal(name, value);
  }

  /** Go to another history entry, as Back (-1) and Forward (1) do. */
  go(by: number): void {
    this.#index += by;
    this.location.search = this.entries[this.#index] ?? '';
    this.dispatch('popstate');
  }

  #push(url: string): void {
    this.entries.splice(++this.#index, Infinity, '');
    this.#replace(url);
  }

  #replace(url: string): void {
    const query = url.indexOf('?');
    this.location.search = query < 0 ? '' : url.slice(query);
    this.entries[this.#index] = this.location.search;
  }
}

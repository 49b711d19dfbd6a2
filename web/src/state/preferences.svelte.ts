import { SvelteMap } from 'svelte/reactivity';

import { choice, type Codec } from '../lib/codecs';
import type { Param, Preferences } from '../plugin/context';

function readStorage(name: string): string | null {
  try {
    return localStorage.getItem(`tracklight.${name}`);
  } catch {
    return null;
  }
}

function writeStorage(name: string, text: string | null): void {
  try {
    if (text === null) localStorage.removeItem(`tracklight.${name}`);
    else localStorage.setItem(`tracklight.${name}`, text);
  } catch {
    // A frame without storage keeps the value until the page is closed.
  }
}

/** Values that this browser remembers, shared by all windows with the page. */
export class StoredPreferences implements Preferences {
  /** Stored texts by name; null where nothing is stored. Only names that were requested. */
  readonly #texts = new SvelteMap<string, string | null>();

  /** Follow changes made in other windows until the returned function is called. */
  start(): () => void {
    const listeners = new AbortController();
    const reload = (): void => {
      for (const name of this.#texts.keys()) this.#texts.set(name, readStorage(name));
    };
    addEventListener('storage', reload, { signal: listeners.signal });
    return () => listeners.abort();
  }

  param<Value>(name: string, codec: Codec<Value>, fallback: Value): Param<Value> {
    if (!this.#texts.has(name)) this.#texts.set(name, readStorage(name));
    return new StoredParam(this, name, codec, fallback);
  }

  get(name: string): string | null {
    return this.#texts.get(name) ?? null;
  }

  set(name: string, text: string | null): void {
    this.#texts.set(name, text);
    writeStorage(name, text);
  }
}

class StoredParam<Value> implements Param<Value> {
  readonly #preferences: StoredPreferences;
  readonly #name: string;
  readonly #codec: Codec<Value>;
  readonly #fallback: Value;
  readonly #text = $derived.by(() => this.#preferences.get(this.#name));
  readonly #value = $derived.by(() =>
    this.#text === null ? this.#fallback : this.#codec.parse(this.#text),
  );

  constructor(preferences: StoredPreferences, name: string, codec: Codec<Value>, fallback: Value) {
    this.#preferences = preferences;
    this.#name = name;
    this.#codec = codec;
    this.#fallback = fallback;
  }

  get value(): Value {
    return this.#value;
  }

  set(value: Value): void {
    const text = this.#codec.format(value);
    this.#preferences.set(this.#name, text === this.#codec.format(this.#fallback) ? null : text);
  }
}

export type Theme = 'light' | 'dark';
export type ThemeChoice = 'system' | Theme;

export const THEMES: readonly ThemeChoice[] = ['system', 'light', 'dark'];

/** The theme that the user chose; the system's theme by default. */
export class PageTheme {
  readonly #systemQuery = matchMedia('(prefers-color-scheme: dark)');
  #isSystemDark = $state(this.#systemQuery.matches);
  readonly #choice: Param<ThemeChoice>;

  constructor(preferences: Preferences) {
    this.#choice = preferences.param('theme', choice(THEMES, 'system'), 'system');
  }

  /** Follow the system's theme until the returned function is called. */
  start(): () => void {
    const listeners = new AbortController();
    const { signal } = listeners;
    this.#systemQuery.addEventListener('change', (event) => (this.#isSystemDark = event.matches), {
      signal,
    });
    return () => listeners.abort();
  }

  get choice(): ThemeChoice {
    return this.#choice.value;
  }

  get dark(): boolean {
    return this.choice === 'system' ? this.#isSystemDark : this.choice === 'dark';
  }

  get opposite(): Theme {
    return this.dark ? 'light' : 'dark';
  }

  setChoice(choice: ThemeChoice): void {
    this.#choice.set(choice);
    if (choice === 'system') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = choice;
  }

  /** Switch to the other theme; if that is the system's theme, follow the system again. */
  toggle(): void {
    const isSystemTheme = (this.opposite === 'dark') === this.#isSystemDark;
    this.setChoice(isSystemTheme ? 'system' : this.opposite);
  }
}

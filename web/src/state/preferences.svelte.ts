import { SvelteMap } from 'svelte/reactivity';

import { choice, type Codec } from '../lib/codecs';
import type { Param, Preferences } from '../plugin/context';

/** What is a matter of taste is remembered in the browser; a frame without storage forgets it. */

export function readStorage(key: string): string | null {
  try {
    return localStorage.getItem(`tracklight.${key}`);
  } catch {
    return null;
  }
}

export function writeStorage(key: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(`tracklight.${key}`);
    else localStorage.setItem(`tracklight.${key}`, value);
  } catch {
    // Then it holds until the page is closed.
  }
}

/** What this browser remembers of its user's likings. */
class StoredPreferences implements Preferences {
  /** null where nothing is remembered; a key that nobody asked for is not there. */
  readonly #texts = new SvelteMap<string, string | null>();

  constructor() {
    // Another window of the same browser has changed something.
    addEventListener('storage', () => {
      for (const name of this.#texts.keys()) this.#texts.set(name, readStorage(name));
    });
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
  readonly #tastes: StoredPreferences;
  readonly #name: string;
  readonly #codec: Codec<Value>;
  readonly #fallback: Value;
  readonly #text = $derived.by(() => this.#tastes.get(this.#name));
  readonly #value = $derived.by(() =>
    this.#text === null ? this.#fallback : this.#codec.parse(this.#text),
  );

  constructor(tastes: StoredPreferences, name: string, codec: Codec<Value>, fallback: Value) {
    this.#tastes = tastes;
    this.#name = name;
    this.#codec = codec;
    this.#fallback = fallback;
  }

  get value(): Value {
    return this.#value;
  }

  set(value: Value): void {
    const text = this.#codec.format(value);
    this.#tastes.set(this.#name, text === this.#codec.format(this.#fallback) ? null : text);
  }
}

export const preferences = new StoredPreferences();

export type Theme = 'light' | 'dark';
export type ThemeChoice = 'system' | Theme;

export const THEMES: readonly ThemeChoice[] = ['system', 'light', 'dark'];

/** Follows the system until the user says otherwise. */
class PageTheme {
  readonly #system = matchMedia('(prefers-color-scheme: dark)');
  #systemIsDark = $state(this.#system.matches);
  readonly #choice = preferences.param('theme', choice(THEMES, 'system'), 'system');

  constructor() {
    this.#system.addEventListener('change', (event) => (this.#systemIsDark = event.matches));
  }

  get choice(): ThemeChoice {
    return this.#choice.value;
  }

  get dark(): boolean {
    return this.choice === 'system' ? this.#systemIsDark : this.choice === 'dark';
  }

  get opposite(): Theme {
    return this.dark ? 'light' : 'dark';
  }

  setChoice(choice: ThemeChoice): void {
    this.#choice.set(choice);
    if (choice === 'system') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = choice;
  }

  /** The other theme; if that is the system's own, the system is followed again. */
  toggle(): void {
    const isSystems = (this.opposite === 'dark') === this.#systemIsDark;
    this.setChoice(isSystems ? 'system' : this.opposite);
  }
}

export const theme = new PageTheme();

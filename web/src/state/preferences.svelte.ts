import { SvelteMap } from 'svelte/reactivity';

import { choice, type Codec, flag, number } from '../lib/codecs';
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

/** The size of the window, as far as the layout depends on it. */
export class PageViewport {
  readonly #narrowQuery = matchMedia('(max-width: 760px)');
  /** Too narrow for a panel beside the dashboard. */
  isNarrow = $state(this.#narrowQuery.matches);
  /** The page is embedded in another one, such as a notebook. */
  readonly isFramed = self !== top;

  start(): () => void {
    const listeners = new AbortController();
    const { signal } = listeners;
    const update = (event: MediaQueryListEvent): void => void (this.isNarrow = event.matches);
    this.#narrowQuery.addEventListener('change', update, { signal });
    return () => listeners.abort();
  }
}

export const MIN_RUNS_PANEL_PX = 200;
export const MAX_RUNS_PANEL_PX = 720;
const DEFAULT_RUNS_PANEL_PX = 320;

/** The runs panel: beside the dashboard, or a drawer above it in a narrow window. */
export class RunsPanelState {
  readonly #viewport: PageViewport;
  readonly #width: Param<number>;
  readonly #isClosed: Param<boolean>;
  readonly #hasTwoLines: Param<boolean>;
  #isDrawerOpen = $state(false);

  constructor(viewport: PageViewport, preferences: Preferences) {
    this.#viewport = viewport;
    const width = DEFAULT_RUNS_PANEL_PX;
    this.#width = preferences.param('runs-width', number(width), width);
    this.#isClosed = preferences.param('runs-closed', flag, false);
    this.#hasTwoLines = preferences.param('runs-two-lines', flag, false);
  }

  get width(): number {
    return this.#width.value;
  }

  get isOpen(): boolean {
    return this.#viewport.isNarrow ? this.#isDrawerOpen : !this.#isClosed.value;
  }

  /** Each row has the name on one line and the columns on a second one. */
  get hasTwoLines(): boolean {
    return this.#hasTwoLines.value;
  }

  setTwoLines(enabled: boolean): void {
    this.#hasTwoLines.set(enabled);
  }

  resize(width: number): void {
    this.#width.set(width);
  }

  toggle(): void {
    if (this.#viewport.isNarrow) this.#isDrawerOpen = !this.#isDrawerOpen;
    else this.#isClosed.set(!this.#isClosed.value);
  }

  closeDrawer(): void {
    this.#isDrawerOpen = false;
  }
}

export type PanelName = 'settings' | 'alerts';
export type DialogName = 'search' | 'shortcuts';

/** The right panel and the dialog that are open. */
export class OpenPanels {
  panel = $state<PanelName | null>(null);
  dialog = $state<DialogName | null>(null);

  togglePanel(name: PanelName): void {
    this.panel = this.panel === name ? null : name;
  }

  toggleDialog(name: DialogName): void {
    this.dialog = this.dialog === name ? null : name;
  }
}

/** The time to the second: one timer for everything that shows how long ago something was. */
export class Clock {
  now = $state(Date.now());

  start(): () => void {
    const timer = setInterval(() => (this.now = Date.now()), 1000);
    return () => clearInterval(timer);
  }
}

import { flag, number } from '../lib/codecs';
import type { Param, Preferences } from '../plugin/context';

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

import { flag, number } from '../lib/codecs';
import { preferences } from './preferences.svelte';

/** What room there is for the page. */
class PageViewport {
  readonly #narrow = matchMedia('(max-width: 760px)');
  /** There is no room for a list beside the main part. */
  isNarrow = $state(this.#narrow.matches);
  /** The page stands in another one, such as a notebook. */
  readonly isFramed = self !== top;

  constructor() {
    this.#narrow.addEventListener('change', (event) => (this.isNarrow = event.matches));
  }
}

export const pageViewport = new PageViewport();

export const MIN_RUNS_PANEL_PX = 200;
export const MAX_RUNS_PANEL_PX = 720;
const DEFAULT_RUNS_PANEL_PX = 320;

/** The panel with the runs: beside the main part, or over it where there is no room. */
class RunsPanelState {
  readonly #width = preferences.param(
    'runs-width',
    number(DEFAULT_RUNS_PANEL_PX),
    DEFAULT_RUNS_PANEL_PX,
  );
  readonly #closed = preferences.param('runs-closed', flag, false);
  /** On a small screen it lies over the main part, and only when asked for. */
  #over = $state(false);

  get width(): number {
    return this.#width.value;
  }

  get isOpen(): boolean {
    return pageViewport.isNarrow ? this.#over : !this.#closed.value;
  }

  resize(width: number): void {
    this.#width.set(width);
  }

  toggle(): void {
    if (pageViewport.isNarrow) this.#over = !this.#over;
    else this.#closed.set(!this.#closed.value);
  }

  /** Makes way for the main part where there is no room for both. */
  closeOverlay(): void {
    this.#over = false;
  }
}

export const runsPanel = new RunsPanelState();

export type PanelName = 'settings' | 'alerts';
export type DialogName = 'search' | 'keys';

/** What lies beside or above the dashboard because somebody asked for it. */
class OpenPanels {
  /** At the right of the dashboard. */
  panel = $state<PanelName | null>(null);
  /** In front of everything. */
  dialog = $state<DialogName | null>(null);

  togglePanel(name: PanelName): void {
    this.panel = this.panel === name ? null : name;
  }

  toggleDialog(name: DialogName): void {
    this.dialog = this.dialog === name ? null : name;
  }
}

export const openPanels = new OpenPanels();

/** The time of day, to the second; one timer for everything that says how long ago it was. */
class Clock {
  now = $state(Date.now());

  constructor() {
    setInterval(() => (this.now = Date.now()), 1000);
  }
}

export const clock = new Clock();

import { recall, remember } from './memory';

export type Theme = 'light' | 'dark';

/** Follows the system until the user says otherwise. */
class ThemeChoice {
  #system = matchMedia('(prefers-color-scheme: dark)');
  #systemIsDark = $state(this.#system.matches);
  #chosen = $state<Theme | null>(readTheme());

  constructor() {
    this.#system.addEventListener('change', (event) => (this.#systemIsDark = event.matches));
  }

  get current(): Theme {
    return this.#chosen ?? (this.#systemIsDark ? 'dark' : 'light');
  }

  /** The other theme; a choice that is the system's own is forgotten, so that it follows again. */
  toggle(): void {
    const next: Theme = this.current === 'dark' ? 'light' : 'dark';
    const isSystems = (next === 'dark') === this.#systemIsDark;
    this.#chosen = isSystems ? null : next;
    remember('theme', this.#chosen);
    if (this.#chosen) document.documentElement.dataset.theme = this.#chosen;
    else delete document.documentElement.dataset.theme;
  }
}

function readTheme(): Theme | null {
  const theme = recall('theme');
  return theme === 'light' || theme === 'dark' ? theme : null;
}

export const theme = new ThemeChoice();

import { choice } from '../base/codec';
import { tastes } from './tastes.svelte';

export type Theme = 'light' | 'dark';
export type ThemeChoice = 'system' | Theme;

export const THEMES: readonly ThemeChoice[] = ['system', 'light', 'dark'];

/** Follows the system until the user says otherwise. */
class PageTheme {
  readonly #system = matchMedia('(prefers-color-scheme: dark)');
  #systemIsDark = $state(this.#system.matches);
  readonly #choice = tastes.param('theme', choice(THEMES, 'system'), 'system');

  constructor() {
    this.#system.addEventListener('change', (event) => (this.#systemIsDark = event.matches));
  }

  get choice(): ThemeChoice {
    return this.#choice.value;
  }

  get dark(): boolean {
    return this.choice === 'system' ? this.#systemIsDark : this.choice === 'dark';
  }

  get other(): Theme {
    return this.dark ? 'light' : 'dark';
  }

  choose(choice: ThemeChoice): void {
    this.#choice.set(choice);
    if (choice === 'system') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = choice;
  }

  /** The other theme; if that is the system's own, the system is followed again. */
  toggle(): void {
    const isSystems = (this.other === 'dark') === this.#systemIsDark;
    this.choose(isSystems ? 'system' : this.other);
  }
}

export const theme = new PageTheme();

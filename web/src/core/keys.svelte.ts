import { untrack } from 'svelte';

import { isPressing, isTyping, matchesKeys } from '../base/shortcut';
import type { Keys, Shortcut } from '../plugin/context';

export interface ShortcutGroup {
  readonly title: string;
  readonly shortcuts: readonly Shortcut[];
}

/**
 * All shortcuts. Of several for the same keys, those of a dashboard precede those of the page, which
 * may be registered again at any time; among equals, the last one registered precedes.
 */
class PageKeys implements Keys {
  #pageShortcuts = $state.raw<readonly Shortcut[]>([]);
  #dashboardShortcuts = $state.raw<readonly Shortcut[]>([]);

  readonly #shortcuts = $derived([...this.#pageShortcuts, ...this.#dashboardShortcuts]);
  readonly groups = $derived(groupShortcuts(this.#shortcuts));

  constructor() {
    addEventListener('keydown', (event) => this.#press(event));
  }

  /** Register a shortcut of a dashboard. An effect that calls this does not depend on it. */
  register(shortcut: Shortcut): () => void {
    untrack(() => (this.#dashboardShortcuts = [...this.#dashboardShortcuts, shortcut]));
    return () =>
      untrack(() => (this.#dashboardShortcuts = without(this.#dashboardShortcuts, shortcut)));
  }

  /** Register a shortcut of the page, which dashboards can override. */
  registerForPage(shortcut: Shortcut): () => void {
    untrack(() => (this.#pageShortcuts = [...this.#pageShortcuts, shortcut]));
    return () => untrack(() => (this.#pageShortcuts = without(this.#pageShortcuts, shortcut)));
  }

  #press(event: KeyboardEvent): void {
    // Whoever has the focus has had the key first.
    if (event.defaultPrevented || event.isComposing) return;
    if (isTyping(event) || isPressing(event)) return;
    const shortcut = this.#shortcuts.findLast(({ keys }) => matchesKeys(keys, event));
    if (!shortcut) return;
    event.preventDefault();
    shortcut.run(event);
  }
}

function without(shortcuts: readonly Shortcut[], removed: Shortcut): readonly Shortcut[] {
  return shortcuts.filter((shortcut) => shortcut !== removed);
}

function groupShortcuts(shortcuts: readonly Shortcut[]): ShortcutGroup[] {
  const titles = [...new Set(shortcuts.map(({ group }) => group))];
  return titles.map((title) => ({
    title,
    shortcuts: shortcuts.filter(({ group }) => group === title),
  }));
}

export const keys = new PageKeys();

import { untrack } from 'svelte';

import { isPressing, isTyping, matchesKeys } from '../base/shortcut';
import type { Keys, Shortcut } from '../plugin/context';

export interface ShortcutGroup {
  readonly title: string;
  readonly shortcuts: readonly Shortcut[];
}

/** All shortcuts of the page; of two for the same keys the one that came last is taken. */
class PageKeys implements Keys {
  #shortcuts = $state.raw<readonly Shortcut[]>([]);

  readonly groups = $derived(groupShortcuts(this.#shortcuts));

  constructor() {
    addEventListener('keydown', (event) => this.#press(event));
  }

  /** May be called in an effect, which must not run again because of it. */
  register(shortcut: Shortcut): () => void {
    this.#change((shortcuts) => [...shortcuts, shortcut]);
    return () => this.#change((shortcuts) => shortcuts.filter((other) => other !== shortcut));
  }

  #change(change: (shortcuts: readonly Shortcut[]) => Shortcut[]): void {
    this.#shortcuts = untrack(() => change(this.#shortcuts));
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

function groupShortcuts(shortcuts: readonly Shortcut[]): ShortcutGroup[] {
  const titles = [...new Set(shortcuts.map(({ group }) => group))];
  return titles.map((title) => ({
    title,
    shortcuts: shortcuts.filter(({ group }) => group === title),
  }));
}

export const keys = new PageKeys();

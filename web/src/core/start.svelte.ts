import { untrack } from 'svelte';

import type { BuiltIn } from '../plugin/registry';
import { board } from './board.svelte';
import { dashboards } from './dashboards.svelte';
import { notes } from './notes.svelte';
import { tags } from './tags.svelte';

/** Fills the page, and keeps every part of it up to date with what the server says. */
export function start(builtIn: readonly BuiltIn[]): () => void {
  void board.start();
  tags.start();
  void dashboards.start(builtIn);
  board.on('reset', () => {
    notes.refresh();
    void dashboards.refresh();
  });
  return $effect.root(() => {
    $effect(() => {
      if (board.started && !board.paused) return untrack(() => board.follow());
    });
    $effect(() => {
      board.revisionOf(null);
      if (!board.paused || !tags.ready) tags.refresh();
      if (!board.paused && tags.ready) dashboards.refreshSoon();
    });
  });
}

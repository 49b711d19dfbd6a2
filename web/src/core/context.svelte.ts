import { findDoor } from '../api/door';
import type { Context } from '../plugin/context';
import { address } from './address.svelte';
import { apiOf } from './api';
import { board } from './board.svelte';
import { commands } from './commands.svelte';
import { cursor } from './cursor.svelte';
import { dashboards } from './dashboards.svelte';
import { keys } from './keys.svelte';
import { notes } from './notes.svelte';
import { runs } from './runs/runs.svelte';
import { tags } from './tags.svelte';
import { tastes } from './tastes.svelte';
import { theme } from './theme.svelte';

/** The page as the dashboard sees it whose server half is `server`. */
export function contextFor(server: string): Context {
  return {
    runs,
    tags,
    live: board,
    cursor,
    address,
    tastes,
    keys,
    commands,
    notes,
    api: apiOf(server),
    apiOf,
    shows: (name) => dashboards.active.some((entry) => entry.name === name),
    theme,
    get roots() {
      return board.about?.roots ?? [];
    },
    isStatic: findDoor() !== null,
    subscribe,
  };
}

function subscribe(listener: () => void): () => void {
  let frame = 0;
  const stop = $effect.root(() => {
    $effect(() => {
      readAll();
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(listener);
    });
  });
  return () => {
    cancelAnimationFrame(frame);
    stop();
  };
}

/** Whatever a dashboard may look at, so that a change of it is noticed. */
function readAll(): readonly unknown[] {
  return [
    [runs.shown, runs.groups, runs.baseline, runs.highlighted, runs.all],
    [tags.rows, tags.ready, tags.problem],
    [board.revisionOf(null), board.paused, board.loading, board.about],
    [cursor.hover, cursor.pinned, cursor.range],
    [notes.annotations, notes.layouts, theme.dark, address.search, dashboards.active],
  ];
}

import { groups } from '../../../core/runs/groups.svelte';
import { selection } from '../../../core/runs/selection.svelte';
import { table } from '../../../core/runs/table.svelte';
import { editing } from '../about/editing.svelte';
import { marks } from './marks.svelte';

const PAGE_ROWS = 20;

/** Does what a key means while the table has the focus; false if it means nothing there. */
export function keysOfTable(event: KeyboardEvent): boolean {
  // A key that a button or a box inside the table was pressed with belongs to that.
  if (event.target !== event.currentTarget || event.altKey) return false;
  if (event.ctrlKey || event.metaKey) return pressWithModifier(event.key);
  const place = placeFor(event.key);
  if (place === null) return act(event.key);
  marks.go(Math.min(table.rows.length - 1, Math.max(0, place)), event.shiftKey ? 'range' : 'alone');
  return true;
}

export function isMenuKey({ key, shiftKey }: KeyboardEvent): boolean {
  return key === 'ContextMenu' || (key === 'F10' && shiftKey);
}

function pressWithModifier(key: string): boolean {
  if (key.toLowerCase() !== 'a') return false;
  marks.markAll();
  return true;
}

function placeFor(key: string): number | null {
  const { active } = marks;
  const places: Readonly<Record<string, number>> = {
    ArrowDown: active + 1,
    ArrowUp: active - 1,
    PageDown: active + PAGE_ROWS,
    PageUp: active - PAGE_ROWS,
    Home: 0,
    End: table.rows.length - 1,
  };
  return places[key] ?? null;
}

function act(key: string): boolean {
  const row = marks.activeRow;
  if (key === 'Escape') marks.clear();
  else if (!row) return false;
  else if (key === ' ') tickMarked();
  else if (key === 'Enter') selection.solo(marks.namesFor(row));
  else if (key === 'F2' && row.kind === 'run') editing.renaming = row.name;
  else if (key === 'ArrowLeft') foldAround(marks.active);
  else if (key === 'ArrowRight' && row.kind === 'group') groups.fold(row.key, false);
  else return false;
  return true;
}

/** All become ticked, unless they all are. */
function tickMarked(): void {
  const row = marks.activeRow;
  if (!row) return;
  const names = marks.namesFor(row);
  selection.tick(names, !names.every((name) => selection.isTicked(name)));
}

/** From a run to the head of its group, and from there folds it. */
function foldAround(place: number): void {
  const row = table.rows[place];
  if (row?.kind === 'group') groups.fold(row.key, true);
  else if (groups.keys)
    marks.go(table.rows.findLastIndex((row, at) => at < place && row.kind === 'group'));
}

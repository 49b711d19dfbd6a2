import type { GroupRow, PaintAnswer } from './answers';
import { groupOf } from './convert';
import type { Group } from './model';

/** Maps and sets that are made anew rather than changed, so that who reads them is told. */

export type KnownGroups = ReadonlyMap<string, Group>;
export type Paints = ReadonlyMap<string, PaintAnswer>;

export const NO_GROUPS: KnownGroups = new Map();
export const NO_PAINTS: Paints = new Map();

export function withGroups(known: KnownGroups, rows: readonly GroupRow[]): KnownGroups {
  return new Map([...known, ...rows.map((row) => [row.path, groupOf(row)] as const)]);
}

export function withPaint(paints: Paints, key: string, paint: PaintAnswer): Paints {
  return new Map([...paints, [key, paint]]);
}

export function setOf<Item>(items: Iterable<Item>): ReadonlySet<Item> {
  return new Set(items);
}

/** For each node the group that it came with, and its place there. */
export function placesIn(
  known: KnownGroups,
): ReadonlyMap<string, { readonly group: string; readonly place: number }> {
  const places = new Map<string, { group: string; place: number }>();
  for (const [group, { nodes }] of known)
    nodes.forEach(({ id }, place) => places.set(id, { group, place }));
  return places;
}

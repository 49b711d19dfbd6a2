import type { Column } from '../model/column';
import type { Widths } from '../state/codecs';

/** A column and where it stands in the table. */
export interface PlacedColumn {
  readonly column: Column;
  readonly width: number;
  /** How far from the left edge it stays while others scroll below; null where it scrolls. */
  readonly stuck: number | null;
}

export const NARROWEST = 56;
export const WIDEST = 600;
/** Wide enough for its title, within reason. */
const LETTER = 7;
const BESIDE_TITLE = 36;
const USUAL = [84, 170] as const;
const NAME_WIDTH = 220;
/** Room for the line of the metric beside its number. */
const GOAL_WIDTH = 190;

/** The name, what sessions are judged by and pinned columns first, as they stay at the left. */
export function placeColumns(
  name: Column,
  columns: readonly Column[],
  pinned: readonly string[],
  widths: Widths,
  goalKey: string | null,
): PlacedColumn[] {
  const isPinned = ({ key }: Column): boolean => key === goalKey || pinned.includes(key);
  const isGoal = ({ key }: Column): boolean => key === goalKey;
  const stuck = [
    name,
    ...columns.filter(isGoal),
    ...columns.filter((column) => isPinned(column) && !isGoal(column)),
  ];
  const moving = columns.filter((column) => !isPinned(column));
  let left = 0;
  const widthOf = (column: Column): number =>
    widths.get(column.key) ?? usualWidth(column, column === name, isGoal(column));
  return [
    ...stuck.map((column) => {
      const width = widthOf(column);
      left += width;
      return { column, width, stuck: left - width };
    }),
    ...moving.map((column) => ({ column, width: widthOf(column), stuck: null })),
  ];
}

function usualWidth({ title }: Column, isName: boolean, isGoal: boolean): number {
  if (isName) return NAME_WIDTH;
  if (isGoal) return GOAL_WIDTH;
  const [least, most] = USUAL;
  return Math.min(most, Math.max(least, title.length * LETTER + BESIDE_TITLE));
}

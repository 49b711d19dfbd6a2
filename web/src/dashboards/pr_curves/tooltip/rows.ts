import type { Reading } from '../curve/curve';

/** As many readings as there is room for, the nearest among them, and how many there are besides. */
export function pickRows(
  readings: readonly Reading[],
  nearest: string | null,
  most: number,
): { rows: readonly Reading[]; more: number } {
  if (readings.length <= most) return { rows: readings, more: 0 };
  const first = readings.filter(({ id }) => id === nearest);
  const others = readings.filter(({ id }) => id !== nearest);
  const rows = [...first, ...others].slice(0, most);
  return { rows, more: readings.length - rows.length };
}

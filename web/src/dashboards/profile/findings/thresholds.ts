import type { ThresholdRow } from '../data/answers';

/** Thresholds as the address and the server have them: those that are not as usual, in percent. */
export function writeThresholds(rows: readonly ThresholdRow[]): string {
  return rows
    .filter(({ percent, usual }) => percent !== usual)
    .map(({ name, percent }) => `${name}:${percent}`)
    .join(',');
}

/** The same with one of them changed; without a number it is as usual again. */
export function changeThreshold(
  rows: readonly ThresholdRow[],
  name: string,
  percent: number | null,
): string {
  const change = (row: ThresholdRow): ThresholdRow =>
    row.name === name
      ? { ...row, percent: percent === null ? row.usual : Math.min(100, Math.max(0, percent)) }
      : row;
  return writeThresholds(rows.map(change));
}

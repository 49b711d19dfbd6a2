import type { Work } from '../../../base/pieces';

/** A column of a model, each value less the mean and in standard deviations. */
type Standard = Float64Array;

/** Rounds are enough when columns hardly depend on each other, as those of a search. */
const ROUNDS = 12;

/**
 * How surely a target rises (or falls) with each column while the others are held: the slopes of one
 * linear model on their ranks, in units of their standard error.
 */
export function* effectsOf(columns: readonly Float64Array[], target: Float64Array): Work<number[]> {
  const standards: Standard[] = [];
  for (const column of columns) {
    yield;
    standards.push(standardise(column));
  }
  const rest = standardise(target);
  const slopes = columns.map(() => 0);
  for (let round = 0; round < ROUNDS; round++) {
    yield;
    standards.forEach((column, at) => {
      const change = slopeOf(column, rest);
      slopes[at] = (slopes[at] ?? 0) + change;
      for (let row = 0; row < rest.length; row++)
        rest[row] = (rest[row] ?? 0) - change * (column[row] ?? 0);
    });
  }
  const free = Math.max(1, target.length - columns.length - 1);
  const error = Math.sqrt(rest.reduce((sum, value) => sum + value * value, 0) / free);
  return slopes.map((slope) => (slope / Math.max(error, 1e-6)) * Math.sqrt(target.length));
}

/** Values that are not there count as neither high nor low. */
function standardise(ranks: Float64Array): Standard {
  const known = ranks.filter((rank) => !Number.isNaN(rank));
  const mean = known.reduce((sum, rank) => sum + rank, 0) / Math.max(1, known.length);
  const squares = known.reduce((sum, rank) => sum + (rank - mean) ** 2, 0);
  const deviation = Math.sqrt(squares / Math.max(1, ranks.length));
  if (!(deviation > 0)) return new Float64Array(ranks.length);
  return ranks.map((rank) => (Number.isNaN(rank) ? 0 : (rank - mean) / deviation));
}

function slopeOf(column: Standard, rest: Float64Array): number {
  let sum = 0;
  for (let row = 0; row < column.length; row++) sum += (column[row] ?? 0) * (rest[row] ?? 0);
  return sum / Math.max(1, column.length);
}

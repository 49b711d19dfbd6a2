import type { NeighboursAnswer } from './answers';

export type Metric = 'euclidean' | 'cosine' | 'dot';

/** The nearest of a row, found by looking at every other; for the few rows that copies carry. */
export function findNearest(
  vectors: Float32Array,
  dimensions: number,
  row: number,
  metric: Metric,
  count: number,
): NeighboursAnswer {
  const total = vectors.length / dimensions;
  const mine = vectors.subarray(row * dimensions, (row + 1) * dimensions);
  const distances = Float32Array.from({ length: total }, (_, other) =>
    measure(mine, vectors.subarray(other * dimensions, (other + 1) * dimensions), metric),
  );
  const sign = metric === 'dot' ? -1 : 1;
  const order = Array.from(distances.keys())
    .filter((other) => other !== row && !Number.isNaN(distances[other]))
    .sort((a, b) => sign * ((distances[a] ?? 0) - (distances[b] ?? 0)))
    .slice(0, count);
  return {
    rows: Int32Array.from(order),
    distances: Float32Array.from(order, (other) => distances[other] ?? NaN),
    exact: true,
  };
}

function measure(one: Float32Array, other: Float32Array, metric: Metric): number {
  let [product, ones, others, square] = [0, 0, 0, 0];
  for (let at = 0; at < one.length; at++) {
    const [a, b] = [one[at] ?? 0, other[at] ?? 0];
    product += a * b;
    ones += a * a;
    others += b * b;
    square += (a - b) * (a - b);
  }
  if (metric === 'euclidean') return Math.sqrt(square);
  return metric === 'dot' ? product : 1 - product / Math.sqrt(ones * others || 1);
}

/** Columns with the distance of all datapoints to one of them. Their names say what they measure. */
import type { Metric } from '../../api/schemas';
import * as m from '../../catalog/what_if';

export interface DistanceColumn {
  /** The datapoint that the others are compared with. */
  readonly row: number;
  readonly metric: Metric;
  /** `ATTRIBUTIONS`, a column of vectors, or empty for all features. */
  readonly by: string;
}

/** No column of the data begins like this. */
const PREFIX = ' distance:';
/** Compare by the attributions of the model; no column has this name. */
export const ATTRIBUTIONS = ' attributions';

export function nameDistance({ row, metric, by }: DistanceColumn): string {
  return `${PREFIX}${row}:${metric}${by === '' ? '' : `:${by}`}`;
}

/** Return what a column measures, or null if it is not a distance. */
export function parseDistance(name: string): DistanceColumn | null {
  const found = /^ distance:(\d+):(l1|l2|cosine|custom)(?::(.+))?$/s.exec(name);
  if (!found) return null;
  return { row: Number(found[1]), metric: found[2] as Metric, by: found[3] ?? '' };
}

export function formatDistance({ row, metric, by }: DistanceColumn): string {
  const names: Readonly<Record<Metric, string>> = {
    l1: 'L1',
    l2: 'L2',
    cosine: m.cosine,
    custom: m.customDistance,
  };
  const title = m.distanceTo({ row: String(row), metric: names[metric] });
  if (by === '') return title;
  return m.distanceToBy({ distance: title, by: by === ATTRIBUTIONS ? m.viewAttributions : by });
}

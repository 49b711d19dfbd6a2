import type { ChartRow as ServerChartRow, ChartsRequest } from './schemas';

/** The fields of a request that all charts of a view share. */
export type ChartsView = Required<Omit<ChartsRequest, 'width' | 'charts'>>;

/** A chart; `thinned` if it is from a static export that does not have all of its points. */
export interface ChartRow extends ServerChartRow {
  readonly thinned?: boolean;
}

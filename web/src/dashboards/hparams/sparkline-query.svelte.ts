import { QueryMap } from '../../api/create-query.svelte';
import type { SparklineSeries } from '../../charts/sparkline';
import type { HParamsDashboard } from './hparams-dashboard.svelte';
import { getColorRamp } from './model/trial-colors';
import { type SparklineRequest, sparklineQuery } from './query';

/** Sparklines of the selected metric, of the rows on the screen. */
export class TrialSparklines {
  readonly #dashboard: HParamsDashboard;
  readonly #lines: QueryMap<SparklineRequest, Float32Array | null>;
  readonly #metric = $derived.by(() => this.#dashboard.metric?.key.replace('metric:', '') ?? '');

  constructor(dashboard: HParamsDashboard) {
    this.#dashboard = dashboard;
    this.#lines = new QueryMap(
      dashboard.context.queries,
      sparklineQuery,
      (session) => (this.#metric === '' ? null : { view: { metric: this.#metric }, session }),
      { keepPrevious: (previous, next) => previous.view.metric === next.view.metric },
    );
  }

  /** Rows are useful without sparklines, so errors are not shown. */
  find(row: number): SparklineSeries | undefined {
    const name = this.#findName(row);
    const values = name === undefined ? undefined : this.#lines.get(name)?.data;
    if (!values) return undefined;
    const color = getColorRamp(this.#dashboard.context.theme.dark).at(-8) ?? '';
    const cells = Array.from(values, (value) => (Number.isFinite(value) ? value : null));
    return { color, dashed: false, min: cells, max: cells, last: cells };
  }

  /** Keep the sparkline of a row up to date until the returned function is called. */
  subscribe(row: number): (() => void) | undefined {
    const name = this.#findName(row);
    if (name === undefined || this.#dashboard.settings.repeats.value !== 'each') return undefined;
    return this.#lines.subscribe(name);
  }

  #findName(row: number): string | undefined {
    return this.#dashboard.trialsQuery.data?.rows.names[row];
  }
}

import { widthOf } from '../pen/measure';
import type { Point } from '../pen/pen';
import { layOut, rowsIn } from '../picture/layout';
import type { Overlay, Word } from '../picture/overlay';
import { planAxes, type Settings } from '../picture/plan';
import type { LineChartProps } from '../props';
import type { Extent, Limits, Line } from '../types';
import { Stage } from './stage.svelte';
import { boxOfDrag } from './zoom';

const FREE: Limits = { low: null, high: null };
/** Among so many lines one is only found when the others step back. */
const CROWD = 40;

/** Everything that follows from what a chart was given, where it stands and what a hand does. */
export class Chart {
  readonly stage = new Stage();
  /** The line under the pointer. */
  nearest = $state<string | null>(null);
  /** What the mark or flag under the pointer says. */
  word = $state.raw<Word | null>(null);
  drag = $state.raw<{ readonly from: Point; readonly to: Point } | null>(null);
  readonly #given: () => LineChartProps;
  readonly #zoom: () => Extent | null;

  /** Only what is read of `given` counts: a cursor that moves must not lay out the chart anew. */
  constructor(given: () => LineChartProps, zoom: () => Extent | null) {
    this.#given = given;
    this.#zoom = zoom;
  }

  readonly content = $derived.by(() => {
    const { lines, bands = [], flags = [], guides = [] } = this.#given();
    return { lines, bands, flags, guides };
  });

  // Of its own, so that a chart whose width changes is not fitted anew.
  readonly #rows = $derived.by(() => rowsIn(this.stage.size.height));

  readonly settings = $derived.by<Settings>(() => {
    const given = this.#given();
    return {
      xFormat: given.xFormat ?? 'number',
      xScale: given.xScale ?? 'linear',
      yScale: given.yScale ?? 'linear',
      y2Scale: given.y2Scale ?? 'linear',
      xLimits: given.xLimits ?? FREE,
      yLimits: given.yLimits ?? FREE,
      y2Limits: given.y2Limits ?? FREE,
      ignoreOutliers: given.ignoreOutliers ?? false,
      rows: this.#rows,
    };
  });

  readonly plan = $derived.by(() => planAxes(this.content, this.settings, this.#zoom()));
  readonly layout = $derived.by(() => layOut(this.plan, this.stage.size, widthOf));

  readonly #outstanding = $derived.by<readonly Line[]>(() => {
    const ids = [
      ...(this.#given().highlighted ?? []),
      ...(this.nearest === null ? [] : [this.nearest]),
    ];
    return ids.length === 0 ? [] : this.content.lines.filter(({ id }) => ids.includes(id));
  });

  readonly overlay = $derived.by<Overlay>(() => {
    const given = this.#given();
    const { cursor = null, pinned = null, range = null, spots = [], selecting = false } = given;
    return {
      ...{ cursor, pinned, range, spots },
      box: this.drag && boxOfDrag(this.layout, this.drag.from, this.drag.to, selecting),
      word: this.word,
      highlighted: this.#outstanding,
      // Where few lines are under the pointer itself, a wider line is enough.
      veiled: this.nearest === null || this.content.lines.length > CROWD,
    };
  });
}

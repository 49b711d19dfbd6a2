import type { ChartAnswer } from '../api/scalars';
import { formatCount, formatExact, plural } from '../base/format';
import type { Band, Flag, Line, ScaleKind, Span, XFormat } from '../charts/types';
import type { XAxis } from '../plugin/context';
import { includes } from '../wall/card-set';
import { flagsOf } from './data/capture-flags';
import { centerOf, countOdd, drawBands, drawLines } from './data/drawing';
import type { Loaded } from './data/loader.svelte';
import { makeMargins } from './data/margins';
import type { Want } from './data/want';
import type { CurveWall } from './curve-wall.svelte';
import { NO_LIMITS } from './state/codecs';
import type { CurveCard } from './card';

const NO_LINES: readonly Line[] = [];

/** What the chart of a card draws, kept in step with the answer and the settings. */
export class CardChart {
  readonly #curves: CurveWall;
  /** Held here, as who points at a chart may still look at it when its card has gone. */
  card: CurveCard;

  readonly loaded = $derived.by((): Loaded | undefined =>
    this.#curves.loader.find(this.card.id, this.#seen),
  );
  readonly answer = $derived(this.loaded?.answer ?? null);
  /** A line for each series of the answer. */
  readonly series = $derived.by(() => this.#drawLines(this.answer));
  readonly #margins = $derived.by(() => makeMargins(this.series, this.card));
  readonly lines = $derived(this.#margins.length > 0 ? NO_LINES : this.series);
  /** A band for each group of runs. */
  readonly groups = $derived.by((): readonly Band[] =>
    this.answer ? drawBands(this.answer, this.card, this.#curves.context.runs) : [],
  );
  readonly bands = $derived([...this.#margins, ...this.groups]);
  /** All that has a value at a place on the axis. */
  readonly readable = $derived([...this.bands.map(centerOf), ...this.lines]);
  readonly flags = $derived.by(() => this.#findFlags());
  readonly zoom = $derived.by(() => this.#settings.zooms.value.get(this.card.id) ?? null);
  readonly limits = $derived.by(() => this.#settings.limits.value.get(this.card.id) ?? NO_LIMITS);
  readonly form = $derived.by(() => this.#settings.forms.value.get(this.card.id) ?? 'chart');
  readonly note = $derived.by(() => (this.answer ? describe(this.answer, this.card) : ''));
  readonly points = $derived(this.answer?.points ?? 0);
  readonly noteInFull = $derived.by(() => (this.answer ? describeInFull(this.answer) : ''));
  readonly odd = $derived(this.answer ? countOdd(this.answer) : 0);
  readonly lastStep = $derived(
    this.answer?.lines.reduce((last, line) => Math.max(last, line.last?.step ?? -1), -1) ?? -1,
  );
  /** Lines of the run that is looked at. */
  readonly highlighted = $derived.by(() => this.#findHighlighted());

  constructor(curves: CurveWall, card: CurveCard) {
    this.#curves = curves;
    this.card = $state.raw(card);
  }

  get #settings() {
    return this.#curves.settings;
  }

  get xScale(): ScaleKind {
    return includes(this.#settings.logX.value, this.card.id) ? 'log' : 'linear';
  }

  get yScale(): ScaleKind {
    return includes(this.#settings.logY.value, this.card.id) ? 'log' : 'linear';
  }

  get xFormat(): XFormat {
    return formatOf(this.#settings.x.value);
  }

  /** What the loader is to get for a chart so many pixels wide. */
  wantAt(width: number): Want {
    const { id, tags } = this.card;
    return { id, tags, seen: this.#seen, width };
  }

  get #isScatter(): boolean {
    return this.#settings.x.value.startsWith('metric:');
  }

  /** The part of the axis that is seen, where that is known and points lie in its order. */
  get #seen(): Span | null {
    if (this.#isScatter) return null;
    const { low, high } = this.limits.x;
    return this.zoom?.x ?? (low === null || high === null ? null : [low, high]);
  }

  #drawLines(answer: ChartAnswer | null): readonly Line[] {
    if (!answer) return NO_LINES;
    const { runs } = this.#curves.context;
    const best = this.#settings.best.value;
    return drawLines(answer, this.card, { runs, best, scatter: this.#isScatter });
  }

  /** What somebody wrote down, and when a profiler looked at a run that is drawn. */
  #findFlags(): readonly Flag[] {
    const axis = this.#settings.x.value;
    const runs = this.answer?.lines.map(({ run }) => run) ?? [];
    return [...this.#findNotes(axis), ...flagsOf(this.#curves.captures.rows, runs, axis)];
  }

  #findNotes(axis: XAxis): Flag[] {
    if (axis !== 'step') return [];
    const { tags } = this.card;
    return this.#curves.context.notes.annotations
      .filter(({ tag }) => tag === null || tags.includes(tag))
      .map(({ id, step, text }) => ({ id, x: step, text }));
  }

  #findHighlighted(): readonly string[] {
    const run = this.#curves.context.runs.highlighted;
    if (run === null) return [];
    return this.lines.filter(({ id }) => id.startsWith(`${run}\n`)).map(({ id }) => id);
  }
}

/** How many runs and how much of their points are seen: nothing is left out without a word. */
function describe(answer: ChartAnswer, card: CurveCard): string {
  const runs = plural(answer.runs, 'run');
  const tags = card.tags.length > 1 ? ` · ${plural(card.tags.length, 'tag')}` : '';
  if (answer.bands.length > 0) return `${runs}${tags} · ${plural(answer.points, 'point')}`;
  if (!answer.reduced) return `${runs}${tags} · all points`;
  if (answer.thinned) return `${runs}${tags} · reduced in this copy`;
  const drawn = answer.lines.reduce((sum, line) => sum + line.y.length, 0);
  return `${runs}${tags} · ${formatCount(drawn)} of ${formatCount(answer.points)} shown`;
}

function describeInFull({ reduced, thinned, points }: ChartAnswer): string {
  if (!reduced) return 'Every point is drawn';
  const behind = `${plural(points, 'point', formatExact)} behind this chart`;
  return thinned
    ? `${behind}; those that no screen would show were left out of this copy`
    : `${behind}, all of them reached by zooming`;
}

function formatOf(axis: XAxis): XFormat {
  if (axis === 'wall') return 'time';
  if (axis === 'relative') return 'duration';
  return axis.startsWith('metric:') ? 'number' : 'step';
}

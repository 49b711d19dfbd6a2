import type { Point } from '../../../charts/renderer/renderer';
import type { PointPositions } from '../../../charts/points/point-scene';
import { interpolatePositions } from '../../../charts/points/position-transition.svelte';
import type { ProjectorState } from '../projector-state.svelte';
import {
  isInsidePolygon,
  type PointLabel,
  ScreenIndex,
} from '../../../charts/points/point-overlay';

const HIT_RADIUS_PX = 9;
/** Number of labels without a selection, by the style of points. */
const MAX_LABELS = { auto: 36, points: 0, pictures: 0, labels: 500 } as const;
/** Labels are chosen from a sample of this many points. */
const MAX_LABEL_CANDIDATES = 30_000;
const MAX_EMPHASIZED_LABELS = 120;
const MAX_SEQUENCE_LINES = 5_000;

/** Positions of points on the screen, for hit tests, labels and lines. */
export class ScreenProjection {
  readonly #projector: ProjectorState;
  readonly #getPositions: (() => PointPositions | null) | undefined;
  #cachedIndex: { readonly key: readonly unknown[]; readonly index: ScreenIndex } | null = null;
  /** Points with a label; chosen again when nothing moves. */
  #labeledRows = $state.raw<readonly number[]>([]);

  /** `getPositions` returns other positions of the same points than those of the view. */
  constructor(projector: ProjectorState, getPositions?: () => PointPositions | null) {
    this.#projector = projector;
    this.#getPositions = getPositions;
  }

  /** Positions in space, during transitions too. */
  readonly positions = $derived.by<Float32Array | null>(() => {
    if (this.#getPositions) return this.#getPositions()?.current ?? null;
    const { positions, progress } = this.#projector.transition;
    return positions && interpolatePositions(positions, progress);
  });

  /** Return the position of a point on the screen; null if it is not visible. */
  positionOf(row: number): Point | null {
    const { camera, appearance } = this.#projector;
    const position = this.positions?.subarray(3 * row, 3 * row + 3);
    if (position?.length !== 3 || !appearance.visible[row]) return null;
    return new ScreenIndex(position, null, camera.view).positionOf(0);
  }

  findNearest(at: Point): number | null {
    const radius = Math.max(HIT_RADIUS_PX, this.#projector.pointSize / 2);
    return this.#getIndex()?.findNearest(at, radius) ?? null;
  }

  rowsInside(outline: readonly Point[]): readonly number[] {
    const [xs, ys] = [outline.map(({ x }) => x), outline.map(({ y }) => y)];
    const from = { x: Math.min(...xs), y: Math.min(...ys) };
    const to = { x: Math.max(...xs), y: Math.max(...ys) };
    return this.#getIndex()?.rowsInBox(from, to, (x, y) => isInsidePolygon(outline, x, y)) ?? [];
  }

  /** Choose the points that get a label. */
  chooseLabels(): void {
    const { params, camera, appearance } = this.#projector;
    const limit = MAX_LABELS[params.pointStyle.value];
    const { positions } = this;
    if (limit === 0 || !positions || !appearance.labels) {
      this.#labeledRows = [];
      return;
    }
    const stride = Math.max(1, Math.ceil(positions.length / 3 / MAX_LABEL_CANDIDATES));
    const [candidates, visible] =
      stride === 1
        ? [positions, appearance.visible]
        : samplePositions(positions, appearance.visible, stride);
    const rows = new ScreenIndex(candidates, visible, camera.view).sample(limit);
    this.#labeledRows = rows.map((row) => row * stride);
  }

  /** Return the labels, the most important first. */
  buildLabels(): PointLabel[] {
    const { appearance, params, search, neighbors, selection, hoveredRow } = this.#projector;
    const first = [hoveredRow, params.point.value].filter((row) => row !== null);
    const { similar } = this.#projector;
    const similarRows = similar.data?.rows;
    const lists = [neighbors.data?.rows, similarRows, selection.selectedRows, search.data?.rows];
    const emphasized = takeRows([first, ...lists], MAX_EMPHASIZED_LABELS);
    const others = appearance.highlighted
      ? []
      : this.#labeledRows.filter((row) => !emphasized.has(row));
    return [...emphasized, ...others].flatMap((row) => {
      const at = this.positionOf(row);
      return at ? [{ at, text: appearance.nameOf(row), isEmphasized: emphasized.has(row) }] : [];
    });
  }

  /** Return the names of dense regions, unless points are highlighted. */
  buildRegions(): { readonly at: Point; readonly text: string }[] {
    const { appearance, layouts, camera } = this.#projector;
    if (appearance.highlighted || this.#getPositions) return [];
    return layouts.regions.flatMap(({ name, position }) => {
      const index = new ScreenIndex(Float32Array.from(position), null, camera.view);
      const at = index.positionOf(0);
      return at ? [{ at, text: name }] : [];
    });
  }

  /** Return lines from each point to the next one of its sequence. */
  buildSequenceLines(): [Point, Point][] {
    const { nextRows } = this.#projector.appearance;
    const lines: [Point, Point][] = [];
    for (let row = 0; nextRows && row < nextRows.length; row++) {
      const next = nextRows[row] ?? NaN;
      if (Number.isNaN(next)) continue;
      const [from, to] = [this.positionOf(row), this.positionOf(next)];
      if (from && to) lines.push([from, to]);
      if (lines.length === MAX_SEQUENCE_LINES) break;
    }
    return lines;
  }

  /** The index is built on the first hit test and used until something moves. */
  #getIndex(): ScreenIndex | null {
    const { camera, appearance } = this.#projector;
    const { positions } = this;
    if (!positions) return null;
    const key = [positions, appearance.visible, camera.view];
    if (!this.#cachedIndex?.key.every((part, position) => part === key[position])) {
      const index = new ScreenIndex(positions, appearance.visible, camera.view);
      this.#cachedIndex = { key, index };
    }
    return this.#cachedIndex.index;
  }
}

/** Return the first rows of several lists, each once and at most `limit`. */
function takeRows(
  lists: readonly (ArrayLike<number> | undefined)[],
  limit: number,
): ReadonlySet<number> {
  const rows = new Set<number>();
  for (const list of lists) {
    for (let index = 0; list && index < list.length && rows.size < limit; index++) {
      rows.add(list[index] ?? 0);
    }
  }
  return rows;
}

function samplePositions(
  positions: Float32Array,
  visible: Uint8Array,
  stride: number,
): [Float32Array, Uint8Array] {
  const count = Math.floor(positions.length / 3 / stride);
  const [sample, isVisible] = [new Float32Array(3 * count), new Uint8Array(count)];
  for (let index = 0; index < count; index++) {
    const row = index * stride;
    sample.set(positions.subarray(3 * row, 3 * row + 3), 3 * index);
    isVisible[index] = visible[row] ?? 0;
  }
  return [sample, isVisible];
}

import type { Point } from '../../../charts/renderer/renderer';
import { interpolatePositions } from '../projector-layouts.svelte';
import type { ProjectorState } from '../projector-state.svelte';
import type { PointLabel } from './point-overlay';
import { isInsidePolygon, ScreenIndex } from './screen-index';

/** The first rows of several lists, each once and not more than `most`. */
export function takeRows(
  lists: readonly (ArrayLike<number> | undefined)[],
  most: number,
): ReadonlySet<number> {
  const rows = new Set<number>();
  for (const list of lists) {
    for (let at = 0; list && at < list.length && rows.size < most; at++) rows.add(list[at] ?? 0);
  }
  return rows;
}

const HIT_RADIUS_PX = 9;
/** Names that are seen without being asked for, by how points are drawn. */
const MAX_LABELS = { auto: 36, points: 0, pictures: 0, labels: 500 } as const;
/** Of so many points names are taken; more would not be seen anyway. */
const MAX_LABEL_CANDIDATES = 30_000;
const MAX_EMPHASIZED_LABELS = 120;

/** Where points are on the screen, for who points at them and for the names beside them. */
export class ScreenProjection {
  readonly #projector: ProjectorState;
  #cachedIndex: { readonly key: readonly unknown[]; readonly screen: ScreenIndex } | null = null;
  /** Points whose names are seen, chosen anew when all stands still. */
  labeledRows = $state.raw<readonly number[]>([]);

  constructor(projector: ProjectorState) {
    this.#projector = projector;
  }

  /** Where all points are while nothing moves. */
  readonly positions = $derived.by<Float32Array | null>(() => {
    const { positions, progress } = this.#projector.transition;
    return positions && interpolatePositions(positions, progress);
  });

  /** Where one of them is now; null where it is not seen. */
  positionOf(row: number): Point | null {
    const { camera, appearance } = this.#projector;
    const place = this.positions?.subarray(3 * row, 3 * row + 3);
    if (place?.length !== 3 || !appearance.visible[row]) return null;
    return new ScreenIndex(place, null, camera.view).positionOf(0);
  }

  findNearest(at: Point): number | null {
    return (
      this.#getIndex()?.findNearest(at, Math.max(HIT_RADIUS_PX, this.#projector.pointSize / 2)) ??
      null
    );
  }

  rowsInside(line: readonly Point[]): readonly number[] {
    const [xs, ys] = [line.map(({ x }) => x), line.map(({ y }) => y)];
    const from = { x: Math.min(...xs), y: Math.min(...ys) };
    const to = { x: Math.max(...xs), y: Math.max(...ys) };
    return this.#getIndex()?.rowsInBox(from, to, (x, y) => isInsidePolygon(line, x, y)) ?? [];
  }

  /** Chooses whose names are seen. */
  chooseLabels(): void {
    const { params, camera, appearance } = this.#projector;
    const most = MAX_LABELS[params.pointStyle.value];
    const places = this.positions;
    if (most === 0 || !places || !appearance.labels) {
      this.labeledRows = [];
      return;
    }
    const stride = Math.max(1, Math.ceil(places.length / 3 / MAX_LABEL_CANDIDATES));
    const [some, seen] =
      stride === 1
        ? [places, appearance.visible]
        : samplePositions(places, appearance.visible, stride);
    const rows = new ScreenIndex(some, seen, camera.view).sample(most);
    this.labeledRows = rows.map((row) => row * stride);
  }

  /** Names beside points, those that matter first. */
  buildLabels(): PointLabel[] {
    const { appearance, params, pointQueries, selection, hoveredRow } = this.#projector;
    const first = [hoveredRow, params.point.value].filter((row) => row !== null);
    const lists = [
      pointQueries.neighbors.data?.rows,
      selection.selectedRows,
      pointQueries.search.data?.rows,
    ];
    const strong = takeRows([first, ...lists], MAX_EMPHASIZED_LABELS);
    const weak = appearance.highlighted ? [] : this.labeledRows.filter((row) => !strong.has(row));
    return [...strong, ...weak].flatMap((row) => {
      const at = this.positionOf(row);
      return at ? [{ at, text: appearance.nameOf(row), isEmphasized: strong.has(row) }] : [];
    });
  }

  /** Made when somebody points, and kept until the picture is another one. */
  #getIndex(): ScreenIndex | null {
    const { camera, appearance } = this.#projector;
    const places = this.positions;
    if (!places) return null;
    const key = [places, appearance.visible, camera.view];
    if (this.#cachedIndex?.key.every((part, at) => part === key[at]))
      return this.#cachedIndex.screen;
    this.#cachedIndex = { key, screen: new ScreenIndex(places, appearance.visible, camera.view) };
    return this.#cachedIndex.screen;
  }
}

function samplePositions(
  places: Float32Array,
  seen: Uint8Array,
  stride: number,
): [Float32Array, Uint8Array] {
  const count = Math.floor(places.length / 3 / stride);
  const [some, visible] = [new Float32Array(3 * count), new Uint8Array(count)];
  for (let at = 0; at < count; at++) {
    some.set(places.subarray(3 * at * stride, 3 * at * stride + 3), 3 * at);
    visible[at] = seen[at * stride] ?? 0;
  }
  return [some, visible];
}

/** More lines than these would be a blot. */
const MAX_SEQUENCE_LINES = 5_000;

/** Lines from each point to the one that its labels say is next. */
export function buildSequenceLines(
  { info, columns }: ProjectorState,
  sight: ScreenProjection,
): [Point, Point][] {
  const next = columns.find(info.data?.sequence ?? null)?.numbers;
  if (!next) return [];
  const trails: [Point, Point][] = [];
  for (let row = 0; row < next.length && trails.length < MAX_SEQUENCE_LINES; row++) {
    const to = next[row] ?? NaN;
    if (Number.isNaN(to)) continue;
    const ends = [sight.positionOf(row), sight.positionOf(to)] as const;
    if (ends[0] && ends[1]) trails.push([ends[0], ends[1]]);
  }
  return trails;
}

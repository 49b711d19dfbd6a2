import { untrack } from 'svelte';
import { SvelteMap } from 'svelte/reactivity';

import { valuePath } from '../../../api/client';
import type { TagRow } from '../../../api/schemas';
import type { CardCaption, TagCard } from '../../../cards/card-sections';
import { indexAtStep } from '../../../cards/steps/step-series';
import type { MenuItem } from '../../../components/menu';
import { formatInteger, formatPlural, formatStep } from '../../../lib/format';
import { GeometryLoader, type GeometryQuery } from '../geometry-loader.svelte';
import { type BoundingSphere, findBoundingSphere, type GeometryResponse } from '../mesh-geometry';
import type { MeshState, RunMeshes } from '../mesh-state.svelte';

/** What a card shows: of each run the mesh at a step, and the frame that all of them stand in. */
export class MeshCardModel {
  /** Stays when steps change, so that what grows is seen to grow. */
  bounds = $state.raw<BoundingSphere | null>(null);
  readonly #mesh: MeshState;
  readonly #shelves = new SvelteMap<string, GeometryLoader>();
  /** Whether the frame is around all runs yet. */
  #isWhole = false;
  #waiting = 0;

  /** The meshes that are there. */
  readonly geometries = $derived.by<readonly GeometryResponse[]>(() =>
    [...this.#shelves.values()].flatMap(({ geometry }) => geometry ?? []),
  );
  readonly #isLoading = $derived.by(() =>
    [...this.#shelves.values()].some(({ isLoading }) => isLoading),
  );

  constructor(mesh: MeshState) {
    this.#mesh = mesh;
  }

  /** To be called where effects live. */
  watch(series: () => readonly RunMeshes[], step: () => number | null): void {
    $effect(() => {
      const { item, whole } = this.#mesh.settings;
      const [at, batchIndex, allPoints] = [step(), item.value, whole.value];
      const wanted = series().map(({ steps }) => {
        const stepIndex = indexAtStep(steps, at);
        return [
          steps.run,
          stepIndex < 0 ? null : { steps, stepIndex, batchIndex, allPoints },
        ] as const;
      });
      untrack(() => this.#want(wanted));
    });
    $effect(() => this.#frameAll());
    $effect(() => this.#tellWaiting(this.#isLoading ? 1 : 0));
    $effect(() => () => this.#close());
  }

  findLoader(run: string): GeometryLoader | undefined {
    return this.#shelves.get(run);
  }

  /** Puts the frame around what is seen now. */
  fitBounds(): void {
    this.bounds = findBoundingSphere(this.geometries.map(({ about }) => about)) ?? this.bounds;
  }

  #want(wanted: readonly (readonly [string, GeometryQuery | null])[]): void {
    const runs = wanted.map(([run]) => run);
    for (const [run, shelf] of this.#shelves) {
      if (runs.includes(run)) continue;
      shelf.close();
      this.#shelves.delete(run);
    }
    for (const [run, one] of wanted) {
      const shelf = this.#shelves.get(run) ?? new GeometryLoader(this.#mesh.context);
      this.#shelves.set(run, shelf);
      shelf.setQuery(one);
    }
  }

  #frameAll(): void {
    const isLoading = this.#isLoading;
    const abouts = this.geometries.map(({ about }) => about);
    if (this.#isWhole || abouts.length === 0) return;
    this.bounds = findBoundingSphere(abouts) ?? untrack(() => this.bounds);
    this.#isWhole = !isLoading && this.bounds !== null;
  }

  #tellWaiting(count: number): void {
    untrack(() => this.#mesh.addPending(count - this.#waiting));
    this.#waiting = count;
  }

  #close(): void {
    this.#tellWaiting(0);
    for (const shelf of this.#shelves.values()) shelf.close();
  }
}

/** Heights in pixels of what is above and below the pictures. */
const HEADER_HEIGHT_PX = 36;
const SLIDER_HEIGHT_PX = 36;
const MAX_CARD_HEIGHT_PX = 900;
const VIEWPORT_GAP_PX = 6;
const CARD_PADDING_PX = 10;
/** The height of a picture, by its width. */
const VIEWPORT_ASPECT_RATIO = 0.74;
/** Narrower pictures show nothing. */
const MIN_VIEWPORT_WIDTH_PX = 150;

/** More runs are not drawn in one card. */
export const MAX_RUNS = { card: 9, full: 25 };

export interface ViewportGrid {
  readonly columns: number;
  readonly rows: number;
}

/** How so many pictures share a width: as square as they can, as long as each is wide enough. */
export function chooseViewportGrid(count: number, width: number): ViewportGrid {
  const fitting = Math.max(
    1,
    Math.floor((width + VIEWPORT_GAP_PX) / (MIN_VIEWPORT_WIDTH_PX + VIEWPORT_GAP_PX)),
  );
  const columns = Math.max(1, Math.min(fitting, Math.ceil(Math.sqrt(count))));
  return { columns, rows: Math.max(1, Math.ceil(count / columns)) };
}

/** How high a card of so many pictures is. */
export function getMeshCardHeight(width: number, count: number, hasSlider: boolean): number {
  const inside = width - 2 * CARD_PADDING_PX;
  const { columns, rows } = chooseViewportGrid(count, inside);
  const each = ((inside - VIEWPORT_GAP_PX * (columns - 1)) / columns) * VIEWPORT_ASPECT_RATIO;
  const pictures = Math.round(rows * each + VIEWPORT_GAP_PX * (rows - 1));
  return Math.min(
    MAX_CARD_HEIGHT_PX,
    HEADER_HEIGHT_PX + pictures + CARD_PADDING_PX + (hasSlider ? SLIDER_HEIGHT_PX : 0),
  );
}

/** What is said beside the title of a card: how many steps there are, and what is not shown. */
export function makeMeshCardNote(
  { count, overwritten }: Pick<TagRow, 'count' | 'overwritten'>,
  steps: Float64Array,
  { runsLeft, isCopy }: { readonly runsLeft: number; readonly isCopy: boolean },
): CardCaption {
  const last = steps.at(-1);
  if (last === undefined) return { text: '' };
  const logged = count - overwritten;
  const told = `${formatPlural(steps.length, 'step', formatInteger)}, the last is ${formatStep(last)}`;
  if (runsLeft > 0) {
    return {
      text: `and ${formatPlural(runsLeft, 'more run')}`,
      details: told,
      alwaysVisible: true,
    };
  }
  if (isCopy && steps.length < logged) {
    const part = `${formatInteger(steps.length)} of ${formatInteger(logged)} steps in this copy`;
    return { text: part, details: told, alwaysVisible: true };
  }
  return { text: told };
}

/** More runs would make a menu that nobody can read. */
const MAX_MENU_RUNS = 6;

/** What can be done with a card of meshes beside what every card offers. */
export function makeMeshCardMenu(
  mesh: MeshState,
  card: TagCard,
  sight: MeshCardModel,
  series: readonly RunMeshes[],
  step: number | null,
): readonly (readonly MenuItem[])[] {
  const fit = (): void => {
    mesh.resetOrbit(card.id);
    sight.fitBounds();
  };
  return [
    [{ label: 'Fit', hint: '0', icon: 'fit', run: fit }],
    mesh.context.isStatic
      ? []
      : series
          .slice(0, MAX_MENU_RUNS)
          .flatMap((one) => makeFileItems(mesh, one, series.length, step)),
  ];
}

function makeFileItems(
  mesh: MeshState,
  { run, steps }: RunMeshes,
  count: number,
  step: number | null,
): MenuItem[] {
  const place = indexAtStep(steps, step);
  if (place < 0) return [];
  const of = count > 1 ? ` of ${run.label}` : '';
  return (['ply', 'obj'] as const).map((format) => ({
    label: `Download ${format.toUpperCase()}${of}`,
    ...(format === 'ply' ? { icon: 'download' as const } : {}),
    run: () => {
      const item = mesh.settings.item.value;
      location.assign(mesh.context.api.url(valuePath('file', steps, place, { item, format })));
    },
  }));
}

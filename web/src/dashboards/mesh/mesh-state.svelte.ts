/** State of the Mesh dashboard, and which tags belong to one mesh. */
import { createContext, untrack } from 'svelte';

import type { SortedSteps } from '../../api/client';
import type { StampRow, TagRow } from '../../api/schemas';
import { type PerCard, TagGridState, withCardValue } from '../../cards/card-grid.svelte';
import { StepSelection, StepsQuery } from '../../cards/steps/step-selection.svelte';
import * as common from '../../catalog/common';
import * as m from '../../catalog/mesh';
import type { Orbit } from '../../charts/webgl/orbit-camera';
import type { Context, Shortcut, VisibleRun } from '../../plugin/context';
import { createMeshSettings, DRAW_MODES, type MeshSettings } from './mesh-settings';
import type { RendererPool } from './mesh-geometry';

const MESH_TAG = /^(?<name>.*)_(?<part>VERTEX|FACE|COLOR)(?<number>_\d+)?$/s;

/** Return the mesh that a series belongs to; `tracklight/analysis/meshes.py` has the same logic. */
export function getMeshName(tag: string): string {
  const found = MESH_TAG.exec(tag)?.groups;
  return found ? (found.name ?? '') + (found.number ?? '') : tag;
}

/** Return one row per mesh. A mesh is logged as up to three series. */
export function mergeMeshTags(rows: readonly TagRow[]): readonly TagRow[] {
  const merged = new Map<string, TagRow>();
  for (const row of rows) {
    const tag = getMeshName(row.tag);
    const previous = merged.get(tag);
    const display_name = getDisplayName(row, tag);
    merged.set(tag, previous ? mergeTagRows(previous, row) : { ...row, tag, display_name });
  }
  return [...merged.values()];
}

/** Writers use the tag as display name if the user gave none. */
function getDisplayName({ display_name, tag }: TagRow, name: string): string {
  return display_name === tag || display_name === name ? '' : display_name;
}

function mergeTagRows(one: TagRow, other: TagRow): TagRow {
  return {
    ...one,
    runs: Math.max(one.runs, other.runs),
    count: Math.max(one.count, other.count),
    overwritten: Math.max(one.overwritten, other.overwritten),
    first: chooseStamp(one.first, other.first, (a, b) => a <= b),
    last: chooseStamp(one.last, other.last, (a, b) => a >= b),
    description: one.description || other.description,
  };
}

function chooseStamp(
  one: StampRow | null,
  other: StampRow | null,
  isBetter: (one: number, other: number) => boolean,
): StampRow | null {
  if (!one || !other) return one ?? other;
  return isBetter(one.step, other.step) ? one : other;
}

const NO_ORBITS: PerCard<Orbit> = new Map();
/** The camera stopped if it has not moved for this long. */
const ORBIT_SETTLE_MS = 160;

/** A series of meshes with the run that logged it. */
export interface RunMeshes {
  readonly run: VisibleRun;
  readonly steps: SortedSteps;
}

/** The state that the components of the dashboard share. */
export class MeshState {
  readonly context: Context;
  readonly cardGrid: TagGridState;
  readonly settings: MeshSettings;
  readonly stepSelection: StepSelection;
  readonly stepLoader: StepsQuery;
  /** A static export has neither files nor more than the first points of a mesh. */
  readonly hasAllPoints: boolean;
  /** Undefined while its code is loading; null if the browser has no WebGL 2. */
  rendererPool = $state.raw<RendererPool | null | undefined>(undefined);
  /** The camera that is moving; the URL is updated when it stops. */
  #movingOrbit = $state.raw<{ readonly card: string; readonly orbit: Orbit } | null>(null);
  #timer: ReturnType<typeof setTimeout> | undefined;
  #pendingCount = $state(0);

  constructor(context: Context) {
    this.context = context;
    this.cardGrid = new TagGridState(context, {
      name: 'mesh',
      title: m.title,
      emptyTitle: m.emptyTitle,
      emptyHint: m.emptyHint,
      plugins: ['mesh'],
      defaultWidth: 420,
      mergeRows: mergeMeshTags,
    });
    this.settings = createMeshSettings(context.url);
    this.stepSelection = new StepSelection(context.url);
    this.stepLoader = new StepsQuery(this.cardGrid);
    this.hasAllPoints = context.supports('GET mesh/file');
  }

  /** Call it where effects can be created. */
  startEffects(): void {
    this.cardGrid.startEffects();
    this.#openRenderer().catch((error: unknown) => this.context.reportError(error));
    $effect(() => () => clearTimeout(this.#timer));
  }

  /** False while meshes are loading; playback waits. */
  get isReady(): boolean {
    return this.#pendingCount === 0;
  }

  /** Playback waits until the returned function is called. */
  beginLoading(): () => void {
    untrack(() => this.#pendingCount++);
    return () => untrack(() => this.#pendingCount--);
  }

  withRuns(series: readonly SortedSteps[]): readonly RunMeshes[] {
    return series.flatMap((steps) => {
      const run = this.context.runs.find(steps.run);
      return run ? [{ run, steps }] : [];
    });
  }

  /** Return the camera of a card; null until the user moves it. */
  findOrbit(card: string): Orbit | null {
    const { shareCamera, orbit, orbits } = this.settings;
    if (this.isOrbiting(card)) return this.#movingOrbit?.orbit ?? null;
    return shareCamera.value ? orbit.value : (orbits.value.get(card) ?? null);
  }

  isOrbiting(card: string): boolean {
    const moving = this.#movingOrbit;
    return moving !== null && (this.settings.shareCamera.value || moving.card === card);
  }

  setOrbit(card: string, orbit: Orbit): void {
    this.#movingOrbit = { card, orbit };
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#stopMoving(), ORBIT_SETTLE_MS);
  }

  /** Reset the camera of a card, or that of all cards if they share one. */
  resetOrbit(card: string): void {
    clearTimeout(this.#timer);
    this.#movingOrbit = null;
    this.#saveOrbit(card, null);
  }

  resetOrbits(): void {
    this.settings.orbit.set(null);
    this.settings.orbits.set(NO_ORBITS);
  }

  /** Share one camera, starting with that of `card`, or give each card its own. */
  setShareCamera(isShared: boolean, card: string | null): void {
    const { shareCamera, orbit, orbits } = this.settings;
    const own = card === null ? null : this.findOrbit(card);
    shareCamera.set(isShared);
    if (isShared) {
      orbit.set(own ?? orbit.value);
      orbits.set(NO_ORBITS);
    }
  }

  #stopMoving(): void {
    const moving = this.#movingOrbit;
    this.#movingOrbit = null;
    if (moving) this.#saveOrbit(moving.card, moving.orbit);
  }

  #saveOrbit(card: string, saved: Orbit | null): void {
    const { shareCamera, orbit, orbits } = this.settings;
    if (shareCamera.value) orbit.set(saved);
    else orbits.set(withCardValue(orbits.value, card, saved));
  }

  async #openRenderer(): Promise<void> {
    const { openRendererPool } = await import('./scene/renderer-pool');
    this.rendererPool = openRendererPool();
  }
}

export const [getMeshState, setMeshState] = createContext<MeshState>();

/** Register the keyboard shortcuts of the dashboard; return a function that removes them. */
export function registerMeshShortcuts(mesh: MeshState): () => void {
  const { settings, cardGrid, stepSelection } = mesh;
  const { drawMode, axes, grid, overlay, shareCamera } = settings;
  const shortcuts: Omit<Shortcut, 'group'>[] = [
    {
      keys: 'w',
      label: m.shortcutDrawMode,
      run() {
        const next = (DRAW_MODES.indexOf(drawMode.value) + 1) % DRAW_MODES.length;
        drawMode.set(DRAW_MODES[next] ?? 'auto');
      },
    },
    { keys: 'a', label: common.axes, run: () => axes.set(!axes.value) },
    { keys: 'g', label: m.grid, run: () => grid.set(!grid.value) },
    { keys: 'o', label: m.overlayRuns, run: () => overlay.set(!overlay.value) },
    {
      keys: 'c',
      label: m.cameraSync,
      run: () => mesh.setShareCamera(!shareCamera.value, cardGrid.activeCardId),
    },
    {
      keys: 'l',
      label: common.syncSteps,
      run: () => stepSelection.setLinked(!stepSelection.linked.value),
    },
  ];
  const stops = shortcuts.map((shortcut) =>
    cardGrid.context.shortcuts.register({ ...shortcut, group: cardGrid.info.title }),
  );
  return () => stops.forEach((stop) => stop());
}

import { createContext } from 'svelte';

import type { SortedSteps } from '../../api/client';
import { TagGridState } from '../../cards/card-grid.svelte';
import { type PerCard, withCardValue } from '../../cards/grid-settings';
import { StepSelection } from '../../cards/steps/step-selection.svelte';
import { StepsQuery } from '../../cards/steps/steps-query.svelte';
import type { Orbit } from '../../charts/webgl/orbit-camera';
import type { Context, Shortcut, VisibleRun } from '../../plugin/context';
import { DRAW_MODES, type MeshSettings, openMeshSettings } from './mesh-settings';
import { mergeMeshTags } from './mesh-tags';
import type { RendererPool } from './scene/scene-types';

const NO_ORBITS: PerCard<Orbit> = new Map();
/** So long after the last move a picture is taken to stand still. */
const ORBIT_SETTLE_MS = 160;

/** A series of meshes with the run that logged it. */
export interface RunMeshes {
  readonly run: VisibleRun;
  readonly steps: SortedSteps;
}

/** All that the parts of the view share. */
export class MeshState {
  readonly context: Context;
  readonly cardGrid: TagGridState;
  readonly settings: MeshSettings;
  readonly stepSelection: StepSelection;
  readonly stepLoader: StepsQuery;
  /** Undefined until its code is there; null where the browser cannot draw in space. */
  rendererPool = $state.raw<RendererPool | null | undefined>(undefined);
  /** What a hand is turning; the address is told when it rests. */
  #turning = $state.raw<{ readonly card: string; readonly orbit: Orbit } | null>(null);
  #timer: ReturnType<typeof setTimeout> | undefined;
  #waiting = $state(0);

  constructor(context: Context) {
    this.context = context;
    this.cardGrid = new TagGridState(context, {
      name: 'mesh',
      title: 'Mesh',
      noun: 'meshes',
      emptyHint: 'A surface or a cloud of points logged at a step is shown here, to be turned.',
      plugins: ['mesh'],
      defaultWidth: 420,
      mergeRows: mergeMeshTags,
    });
    this.settings = openMeshSettings(context.url);
    this.stepSelection = new StepSelection(context.url);
    this.stepLoader = new StepsQuery(this.cardGrid);
  }

  /** Keeps what is loaded in step with the page; to be called where effects live. */
  watch(): void {
    this.cardGrid.startEffects();
    void this.#openStudio();
    $effect(() => () => clearTimeout(this.#timer));
  }

  /** Whether all that is to be seen is seen, so that playing may go on. */
  get isReady(): boolean {
    return this.#waiting === 0;
  }

  /** `count` more meshes are on their way; fewer, if it is negative. */
  addPending(count: number): void {
    this.#waiting += count;
  }

  /** The series of a mesh in the order of the runs; undefined until they are known. */
  findSeries(tag: string): readonly RunMeshes[] | undefined {
    return this.stepLoader.get(tag)?.flatMap((steps) => {
      const run = this.context.runs.find(steps.run);
      return run ? [{ run, steps }] : [];
    });
  }

  /** Null: where the card is looked at from until somebody turns it. */
  findOrbit(card: string): Orbit | null {
    const { shareCamera, orbit, orbits } = this.settings;
    if (this.isOrbiting(card)) return this.#turning?.orbit ?? null;
    return shareCamera.value ? orbit.value : (orbits.value.get(card) ?? null);
  }

  isOrbiting(card: string): boolean {
    const turning = this.#turning;
    return turning !== null && (this.settings.shareCamera.value || turning.card === card);
  }

  setOrbit(card: string, orbit: Orbit): void {
    this.#turning = { card, orbit };
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#rest(), ORBIT_SETTLE_MS);
  }

  /** Back to where the card, and with a shared camera every other, was looked at from at first. */
  resetOrbit(card: string): void {
    clearTimeout(this.#timer);
    this.#turning = null;
    this.#keep(card, null);
  }

  /** With one camera for all, all see what `card` sees. */
  shareCamera(isShared: boolean, card: string | null): void {
    const { shareCamera, orbit, orbits } = this.settings;
    const own = card === null ? null : this.findOrbit(card);
    shareCamera.set(isShared);
    if (isShared) {
      orbit.set(own ?? orbit.value);
      orbits.set(NO_ORBITS);
    }
  }

  #rest(): void {
    const turning = this.#turning;
    this.#turning = null;
    if (turning) this.#keep(turning.card, turning.orbit);
  }

  #keep(card: string, kept: Orbit | null): void {
    const { shareCamera, orbit, orbits } = this.settings;
    if (shareCamera.value) orbit.set(kept);
    else orbits.set(withCardValue(orbits.value, card, kept));
  }

  async #openStudio(): Promise<void> {
    try {
      const { openRendererPool } = await import('./scene/renderer-pool');
      this.rendererPool = openRendererPool();
    } catch {
      this.rendererPool = null;
    }
  }
}

export const [getMeshState, setMeshState] = createContext<MeshState>();

/** The keys of the view; returns how to take them back. */
export function registerMeshShortcuts(mesh: MeshState): () => void {
  const { settings, cardGrid, stepSelection } = mesh;
  const { form, axes, grid, overlay, shareCamera } = settings;
  const shortcuts: Omit<Shortcut, 'group'>[] = [
    {
      keys: 'w',
      label: 'Surface, edges, wires or points',
      run: () =>
        form.set(DRAW_MODES[(DRAW_MODES.indexOf(form.value) + 1) % DRAW_MODES.length] ?? 'auto'),
    },
    { keys: 'a', label: 'Axes', run: () => axes.set(!axes.value) },
    { keys: 'g', label: 'Grid', run: () => grid.set(!grid.value) },
    { keys: 'o', label: 'All runs in one picture', run: () => overlay.set(!overlay.value) },
    {
      keys: 'c',
      label: 'One camera for all cards',
      run: () => mesh.shareCamera(!shareCamera.value, cardGrid.activeCardId),
    },
    {
      keys: 'l',
      label: 'Same step in all cards',
      run: () => stepSelection.setLinked(!stepSelection.linked.value),
    },
  ];
  const stops = shortcuts.map((shortcut) =>
    cardGrid.context.shortcuts.register({ ...shortcut, group: cardGrid.info.title }),
  );
  return () => stops.forEach((stop) => stop());
}

import { createContext } from 'svelte';

import type { RunSteps } from '../../api/values';
import type { Context, ShownRun } from '../../plugin/context';
import { type ByCard, withCard } from '../../wall/by-card';
import { StepChoice } from '../../wall/steps/choice';
import { StepLoader } from '../../wall/steps/loader.svelte';
import { TagWall } from '../../wall/tag-wall.svelte';
import type { Orbit } from '../../charts/space/orbit';
import { Meshes } from './data/loader.svelte';
import { joinRows } from './join';
import type { Studio } from './scene/shown';
import { type MeshSettings, openMeshSettings } from './state/settings';

const NONE: ByCard<Orbit> = new Map();
/** So long after the last move a picture is taken to stand still. */
const STILL_AFTER_MS = 160;

/** A series of meshes with the run that logged it. */
export interface RunSeries {
  readonly run: ShownRun;
  readonly steps: RunSteps;
}

/** All that the parts of the view share. */
export class Mesh {
  readonly context: Context;
  readonly wall: TagWall;
  readonly settings: MeshSettings;
  readonly choice: StepChoice;
  readonly loader: StepLoader;
  readonly meshes: Meshes;
  /** Undefined until its code is there; null where the browser cannot draw in space. */
  studio = $state.raw<Studio | null | undefined>(undefined);
  /** What a hand is turning; the address is told when it rests. */
  #turning = $state.raw<{ readonly card: string; readonly orbit: Orbit } | null>(null);
  #timer: ReturnType<typeof setTimeout> | undefined;
  #waiting = $state(0);

  constructor(context: Context) {
    this.context = context;
    this.wall = new TagWall(context, {
      name: 'mesh',
      title: 'Mesh',
      noun: 'meshes',
      lesson: 'A surface or a cloud of points logged at a step is shown here, to be turned.',
      plugins: ['mesh'],
      usualWidth: 420,
      join: joinRows,
    });
    this.settings = openMeshSettings(context.address);
    this.choice = new StepChoice(context.address);
    this.loader = new StepLoader(this.wall);
    this.meshes = new Meshes(context.api, context.isStatic);
  }

  /** Keeps what is loaded in step with the page; to be called where effects live. */
  follow(): void {
    this.wall.follow();
    void this.#openStudio();
    $effect(() => () => clearTimeout(this.#timer));
  }

  /** Whether all that is to be seen is seen, so that playing may go on. */
  get isReady(): boolean {
    return this.#waiting === 0;
  }

  /** `count` more meshes are on their way; fewer, if it is negative. */
  await(count: number): void {
    this.#waiting += count;
  }

  /** The series of a mesh in the order of the runs; undefined until they are known. */
  findSeries(tag: string): readonly RunSeries[] | undefined {
    return this.loader.find(tag)?.flatMap((steps) => {
      const run = this.context.runs.find(steps.run);
      return run ? [{ run, steps }] : [];
    });
  }

  /** Null: where the card is looked at from until somebody turns it. */
  findOrbit(card: string): Orbit | null {
    const { shareCamera, orbit, orbits } = this.settings;
    if (this.isMoving(card)) return this.#turning?.orbit ?? null;
    return shareCamera.value ? orbit.value : (orbits.value.get(card) ?? null);
  }

  isMoving(card: string): boolean {
    const turning = this.#turning;
    return turning !== null && (this.settings.shareCamera.value || turning.card === card);
  }

  turn(card: string, orbit: Orbit): void {
    this.#turning = { card, orbit };
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#rest(), STILL_AFTER_MS);
  }

  /** Back to where the card, and with a shared camera every other, was looked at from at first. */
  forgetOrbit(card: string): void {
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
      orbits.set(NONE);
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
    else orbits.set(withCard(orbits.value, card, kept));
  }

  async #openStudio(): Promise<void> {
    try {
      const { openStudio } = await import('./scene/studio');
      this.studio = openStudio();
    } catch {
      this.studio = null;
    }
  }
}

export const [getMesh, setMesh] = createContext<Mesh>();

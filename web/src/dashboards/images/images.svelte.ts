import { createContext, untrack } from 'svelte';

import type { PartAbout } from '../../api/images';
import type { RunSteps } from '../../api/values';
import type { Context, ShownRun } from '../../plugin/context';
import { StepChoice } from '../../wall/steps/choice';
import { StepLoader } from '../../wall/steps/loader.svelte';
import { TagWall } from '../../wall/tag-wall.svelte';
import { Abouts } from './data/abouts';
import { Pictures } from './data/pictures';
import { PixelReader } from './data/pixels';
import type { Value } from './data/value';
import { WHOLE } from './geometry/viewport';
import { type ImageSettings, openImageSettings } from './state/settings';

/** How many values after the one on the screen, and before it, are fetched ahead. */
const AHEAD = [1, 2, -1, 3];

/** A series of pictures with the run that logged it. */
export interface RunSeries {
  readonly run: ShownRun;
  readonly steps: RunSteps;
}

/** All that the parts of the view share. */
export class Images {
  readonly context: Context;
  readonly wall: TagWall;
  readonly settings: ImageSettings;
  readonly choice: StepChoice;
  readonly loader: StepLoader;
  readonly abouts: Abouts;
  readonly pictures: Pictures;
  readonly pixels: PixelReader;
  /** How many pictures on the screen are still those of another step. */
  #waiting = $state(0);

  constructor(context: Context) {
    this.context = context;
    this.wall = new TagWall(context, {
      name: 'images',
      title: 'Images',
      noun: 'images',
      lesson: 'A picture logged at a step is shown here, at full size and at every step.',
      plugins: ['images'],
      usualWidth: 440,
    });
    this.settings = openImageSettings(context.address);
    this.choice = new StepChoice(context.address);
    this.loader = new StepLoader(this.wall);
    this.abouts = new Abouts(context.api);
    this.pictures = new Pictures(context.api);
    this.pixels = new PixelReader(context.api);
  }

  /** Whether all that is to be seen is seen, so that playing may go on. */
  get isReady(): boolean {
    return this.#waiting === 0;
  }

  /** Playing waits until the function that it returns is called. */
  wait(): () => void {
    untrack(() => this.#waiting++);
    return () => untrack(() => this.#waiting--);
  }

  /** Keeps what is loaded in step with the page; to be called where effects live. */
  follow(): void {
    this.wall.follow();
    $effect(() => () => this.pictures.stop());
    this.#resetWithCard();
  }

  /**
   * Viewport, part and comparison belong to the full-screen card and are reset when it changes.
   * The viewer cannot do this when it is unmounted: it is also unmounted while the log is read
   * again or no run is shown.
   */
  #resetWithCard(): void {
    const { fullScreen } = this.wall.settings;
    let before = untrack(() => fullScreen.value);
    $effect(() => {
      const card = fullScreen.value;
      if (before !== null && card !== before) {
        this.settings.viewport.set(WHOLE);
        this.settings.part.set(null);
        this.settings.compared.set(null);
      }
      before = card;
    });
  }

  /** Series with what is known of their runs. */
  withRuns(series: readonly RunSteps[]): readonly RunSeries[] {
    return series.flatMap((steps) => {
      const run = this.context.runs.find(steps.run);
      return run ? [{ run, steps }] : [];
    });
  }

  /** Fetches what will be wanted if the slider moves on from a value. */
  async expectAround(
    value: Value,
    pathsOf: (value: Value, parts: readonly PartAbout[]) => readonly string[],
  ): Promise<void> {
    for (const distance of AHEAD) {
      const next = value.neighbour(distance);
      if (!next) continue;
      try {
        this.pictures.expect(pathsOf(next, await this.abouts.load(next)));
      } catch {
        // It will be told when somebody goes there.
      }
    }
  }
}

export const [getImages, setImages] = createContext<Images>();

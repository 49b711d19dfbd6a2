import { createContext, untrack } from 'svelte';

import type { ImageInfo } from '../../api/schemas';
import type { SortedSteps } from '../../api/client';
import type { Context, VisibleRun } from '../../plugin/context';
import { StepSelection } from '../../cards/steps/step-selection.svelte';
import { StepsQuery } from '../../cards/steps/steps-query.svelte';
import { TagGridState } from '../../cards/card-grid.svelte';
import { imageInfoQuery, type ImageValue } from './query';
import { ImageLoader } from './image-loader.svelte';
import { FIT_VIEWPORT } from './image-geometry';
import { PixelReader } from './viewer/pixel-values';
import { type ImageSettings, createImageSettings } from './image-settings';

/** How many values after the one on the screen, and before it, are fetched ahead. */
const PREFETCH_OFFSETS = [1, 2, -1, 3];

/** A series of pictures with the run that logged it. */
export interface RunSeries {
  readonly run: VisibleRun;
  readonly steps: SortedSteps;
}

/** All that the parts of the view share. */
export class ImagesState {
  readonly context: Context;
  readonly cardGrid: TagGridState;
  readonly settings: ImageSettings;
  readonly stepSelection: StepSelection;
  readonly stepLoader: StepsQuery;
  readonly imageLoader: ImageLoader;
  readonly pixelReader: PixelReader;
  /** How many pictures on the screen are still those of another step. */
  #waiting = $state(0);

  constructor(context: Context) {
    this.context = context;
    this.cardGrid = new TagGridState(context, {
      name: 'images',
      title: 'Images',
      noun: 'images',
      emptyHint: 'A picture logged at a step is shown here, at full size and at every step.',
      plugins: ['images'],
      defaultWidth: 440,
    });
    this.settings = createImageSettings(context.url);
    this.stepSelection = new StepSelection(context.url);
    this.stepLoader = new StepsQuery(this.cardGrid);
    this.imageLoader = new ImageLoader(context.api);
    this.pixelReader = new PixelReader(context.queries);
  }

  loadInfo(value: ImageValue): Promise<readonly ImageInfo[]> {
    return this.context.queries.fetch(imageInfoQuery, value.request);
  }

  /** What is known already. */
  peekInfo(value: ImageValue): readonly ImageInfo[] | undefined {
    return this.context.queries.peek(imageInfoQuery, value.request);
  }

  /** Whether all that is to be seen is seen, so that playing may go on. */
  get isReady(): boolean {
    return this.#waiting === 0;
  }

  /** Playing waits until the function that it returns is called. */
  beginLoading(): () => void {
    untrack(() => this.#waiting++);
    return () => untrack(() => this.#waiting--);
  }

  /** Keeps what is loaded in step with the page; to be called where effects live. */
  follow(): void {
    this.cardGrid.startEffects();
    $effect(() => () => this.imageLoader.dispose());
    this.#resetWithCard();
  }

  /**
   * Viewport, part and comparison belong to the full-screen card and are reset when it changes.
   * The viewer cannot do this when it is unmounted: it is also unmounted while the log is read
   * again or no run is shown.
   */
  #resetWithCard(): void {
    const { fullScreen } = this.cardGrid.settings;
    let previous = untrack(() => fullScreen.value);
    $effect(() => {
      const card = fullScreen.value;
      if (previous !== null && card !== previous) {
        this.settings.viewport.set(FIT_VIEWPORT);
        this.settings.part.set(null);
        this.settings.comparedPair.set(null);
      }
      previous = card;
    });
  }

  /** Series with what is known of their runs. */
  withRuns(series: readonly SortedSteps[]): readonly RunSeries[] {
    return series.flatMap((steps) => {
      const run = this.context.runs.find(steps.run);
      return run ? [{ run, steps }] : [];
    });
  }

  /** Fetches what will be wanted if the slider moves on from a value. */
  async prefetchNeighbors(
    value: ImageValue,
    pathsOf: (value: ImageValue, parts: readonly ImageInfo[]) => readonly string[],
  ): Promise<void> {
    for (const distance of PREFETCH_OFFSETS) {
      const next = value.neighbor(distance);
      if (!next) continue;
      try {
        this.imageLoader.prefetch(pathsOf(next, await this.loadInfo(next)));
      } catch {
        // It will be told when somebody goes there.
      }
    }
  }
}

export const [getImagesState, setImagesState] = createContext<ImagesState>();

/** Settings and state of the Images dashboard, and the comparison of two images. */
import { createContext, untrack } from 'svelte';

import type { ImageInfo } from '../../api/schemas';
import { TagGridState } from '../../cards/card-grid.svelte';
import {
  indexAtStep,
  type SortedSteps,
  StepSelection,
  StepsQuery,
} from '../../cards/steps/step-selection.svelte';
import * as common from '../../catalog/common';
import * as m from '../../catalog/images';
import { choice, type Codec, flag, list, number, optionalNumber } from '../../lib/codecs';
import { formatStep } from '../../lib/format';
import type { Context, Shortcut, UrlState, VisibleRun } from '../../plugin/context';
import {
  displaySize,
  FIT_VIEWPORT,
  type ImageTransform,
  type Point,
  type Viewport,
} from './image-layout';
import { ImageLoader } from './image-loader.svelte';
import {
  imageInfoQuery,
  ImageValue,
  getOriginalPath,
  type RunSeries,
  getThumbnailPath,
} from './query';

/** One of two compared images. */
export interface ComparedImage {
  readonly value: ImageValue;
  readonly info: ImageInfo;
  readonly run: VisibleRun;
}

export type ComparedPair = readonly [ComparedImage, ComparedImage];

export function getComparedImageLabel({ run, value }: ComparedImage): string {
  return common.runAtStep({ run: run.label, step: formatStep(value.step) });
}

/** Return two runs, or the first and the current step of the only run. */
export function findDefaultImagePair(
  series: readonly RunSeries[],
  part: number | null,
): ImagePair | null {
  const [first, second] = series;
  if (!first) return null;
  const makeRef = (run: string, step: number | null = null): ImageRef => ({
    run,
    step,
    part: part ?? 0,
  });
  if (second) return [makeRef(first.run.name), makeRef(second.run.name)];
  return [makeRef(first.run.name, first.steps.step[0] ?? null), makeRef(first.run.name)];
}

/** Return the value of a side; null if there is none up to its step. */
export function findImageValue(
  series: readonly RunSeries[],
  ref: ImageRef,
  step: number | null,
): ImageValue | null {
  const found = series.find(({ run }) => run.name === ref.run);
  if (!found) return null;
  const position = indexAtStep(found.steps, ref.step ?? step);
  return position < 0 ? null : new ImageValue(found.steps, position);
}

export function updateImagePair(
  [a, b]: ImagePair,
  side: 0 | 1,
  change: Partial<ImageRef>,
): ImagePair {
  return side === 0 ? [{ ...a, ...change }, b] : [a, { ...b, ...change }];
}

/** Return the positions of two images over each other. The second gets the width of the first. */
export function stackTransforms(
  [a, b]: ComparedPair,
  transform: ImageTransform,
): readonly [ImageTransform, ImageTransform] {
  const scale = (transform.scale * displaySize(a.info).width) / displaySize(b.info).width;
  return [transform, { ...transform, scale }];
}

/** RGBA pixels, row by row. */
export interface PixelBuffer {
  readonly data: Uint8ClampedArray;
  readonly width: number;
  readonly height: number;
}

export interface PixelDifference {
  readonly width: number;
  readonly height: number;
  /** Largest difference of any channel including alpha, from 0 to 255. */
  readonly max: number;
  /** The first pixel with the largest difference; null if the images are identical. */
  readonly maxAt: Point | null;
  /** Mean over all pixels and color channels. */
  readonly mean: number;
  /** Fraction of the pixels that differ. */
  readonly changedShare: number;
  /** The difference of each color channel, as opaque RGBA. */
  readonly data: Uint8ClampedArray<ArrayBuffer>;
}

/** Compare the common area of two images, aligned at the upper left corner. */
export function computeDifference(one: PixelBuffer, other: PixelBuffer): PixelDifference {
  const width = Math.min(one.width, other.width);
  const height = Math.min(one.height, other.height);
  const data = new Uint8ClampedArray(width * height * 4);
  let [max, maxIndex, sum, changed] = [0, -1, 0, 0];
  for (let y = 0; y < height; y++) {
    let [a, b, to] = [y * one.width * 4, y * other.width * 4, y * width * 4];
    for (const end = to + width * 4; to < end; a += 4, b += 4, to += 4) {
      const red = channelDifference(one.data, a, other.data, b);
      const green = channelDifference(one.data, a + 1, other.data, b + 1);
      const blue = channelDifference(one.data, a + 2, other.data, b + 2);
      const alpha = channelDifference(one.data, a + 3, other.data, b + 3);
      const largest = Math.max(red, green, blue, alpha);
      data[to] = red;
      data[to + 1] = green;
      data[to + 2] = blue;
      data[to + 3] = 255;
      sum += red + green + blue;
      if (largest > 0) changed++;
      if (largest > max) [max, maxIndex] = [largest, to / 4];
    }
  }
  const pixels = Math.max(1, width * height);
  return {
    width,
    height,
    max,
    maxAt: maxIndex < 0 ? null : { x: maxIndex % width, y: Math.floor(maxIndex / width) },
    mean: sum / (3 * pixels),
    changedShare: changed / pixels,
    data,
  };
}

/** Multiply the color channels, so that small differences are visible. */
export function amplify(data: Uint8ClampedArray, gain: number): Uint8ClampedArray<ArrayBuffer> {
  const out = new Uint8ClampedArray(data.length);
  for (let at = 0; at < data.length; at++)
    out[at] = at % 4 === 3 ? 255 : (data[at] as number) * gain;
  return out;
}

function channelDifference(
  one: Uint8ClampedArray,
  index: number,
  other: Uint8ClampedArray,
  otherIndex: number,
): number {
  return Math.abs((one[index] as number) - (other[otherIndex] as number));
}

/** Of larger images, thumbnails are compared. */
const MAX_COMPARED_SIDE_PX = 2048;
const MAX_EXPORTED_SIDE_PX = 512;

/** Return whether all pixels are compared, instead of those of a thumbnail. */
export function isComparedAtFullSize({ info }: ComparedImage, hasOriginals: boolean): boolean {
  const maxSide = hasOriginals ? MAX_COMPARED_SIDE_PX : MAX_EXPORTED_SIDE_PX;
  return Math.max(info.width, info.height) <= maxSide;
}

/** Read the pixels of an image with eight bits per channel. */
export async function readPixels(
  imageLoader: ImageLoader,
  compared: ComparedImage,
  hasOriginals: boolean,
): Promise<PixelBuffer> {
  const { value, info } = compared;
  const path =
    hasOriginals && isComparedAtFullSize(compared, hasOriginals)
      ? getOriginalPath(value, info)
      : getThumbnailPath(value, info, MAX_COMPARED_SIDE_PX, hasOriginals);
  const image = await imageLoader.loadImage(path);
  const { naturalWidth: width, naturalHeight: height } = image;
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext('2d', { willReadFrequently: true });
  if (!context) throw new Error(m.errorNoCanvas);
  context.drawImage(image, 0, 0);
  return context.getImageData(0, 0, width, height);
}

/** One of two compared images. Without a step, it follows the step slider. */
export interface ImageRef {
  readonly run: string;
  readonly step: number | null;
  readonly part: number;
}

export type ImagePair = readonly [ImageRef, ImageRef];

/** Format: `run,step,part` for each image. */
export const imagePairCodec: Codec<ImagePair | null> = {
  parse(text) {
    const [runA, stepA, partA, runB, stepB, partB] = list.parse(text);
    if (runA === undefined || runB === undefined) return null;
    return [parseImageRef(runA, stepA, partA), parseImageRef(runB, stepB, partB)];
  },
  format: (value) =>
    value === null
      ? ''
      : list.format(
          value.flatMap(({ run, step, part }) => [run, step === null ? '' : `${step}`, `${part}`]),
        ),
};

/** Format: `x,y,zoom`. */
export const viewportCodec: Codec<Viewport> = {
  parse(text) {
    const [x, y, zoom] = text.split(',').map(Number);
    const isValid = [x, y, zoom].every((value) => value !== undefined && Number.isFinite(value));
    if (!isValid || x === undefined || y === undefined || !zoom || zoom <= 0) return FIT_VIEWPORT;
    return { x, y, zoom };
  },
  format: ({ x, y, zoom }) => [x, y, zoom].map((value) => Number(value.toPrecision(5))).join(','),
};

function parseImageRef(run: string, step = '', part = ''): ImageRef {
  const number = Number(step);
  const index = Math.max(0, Math.trunc(Number(part)) || 0);
  return { run, step: step === '' || !Number.isFinite(number) ? null : number, part: index };
}

/** The images of one step, or of several steps side by side. */
export type ImageLayout = 'images' | 'grid';
export type ComparisonMode = 'beside' | 'swipe' | 'difference' | 'blink';
/** How enlarged images are drawn. */
type Scaling = 'crisp' | 'smooth';

const COMPARISON_MODES: readonly [ComparisonMode, ...ComparisonMode[]] = [
  'beside',
  'swipe',
  'difference',
  'blink',
];

/** Factors: 1 leaves images unchanged. */
export const BRIGHTNESS_RANGE = { min: 0, max: 3, step: 0.05 };
export const CONTRAST_RANGE = { min: 0, max: 5, step: 0.1 };

type ImageSettings = ReturnType<typeof createImageSettings>;

/** Settings of the dashboard, in the URL. */
function createImageSettings(url: UrlState) {
  return {
    brightness: url.param('brightness', number(1), 1),
    contrast: url.param('contrast', number(1), 1),
    scaling: url.param<Scaling>('scaling', choice(['crisp', 'smooth'], 'crisp'), 'crisp'),
    /** One image pixel per screen pixel. */
    actualSize: url.param('actual-size', flag, false),
    playAnimations: url.param('animate', flag, true),
    layout: url.param<ImageLayout>('image-layout', choice(['images', 'grid'], 'images'), 'images'),
    /** The grid has all steps instead of as many as fit. */
    showAllSteps: url.param('all-steps', flag, false),
    /** Index of the shown image of a step; null: all images. */
    imageIndex: url.param('image-index', optionalNumber, null),
    viewport: url.param('image-viewport', viewportCodec, FIT_VIEWPORT),
    comparedPair: url.param('image-compare', imagePairCodec, null),
    comparisonMode: url.param<ComparisonMode>(
      'image-compare-mode',
      choice(COMPARISON_MODES, 'beside'),
      'beside',
    ),
    /** Factor by which differences are amplified. */
    differenceGain: url.param('difference-gain', number(1), 1),
  };
}

/** Positions that are prefetched, relative to the value on the screen. */
const PREFETCH_OFFSETS = [1, 2, -1, 3];

/** The state that the components of the dashboard share. */
export class ImagesState {
  readonly context: Context;
  readonly cardGrid: TagGridState;
  readonly settings: ImageSettings;
  readonly stepSelection: StepSelection;
  readonly stepLoader: StepsQuery;
  readonly imageLoader: ImageLoader;
  /** A static export has one thumbnail per image, and neither original files nor pixel values. */
  readonly hasOriginals: boolean;
  /** Number of components that still show another step. */
  #pendingCount = $state(0);

  constructor(context: Context) {
    this.context = context;
    this.cardGrid = new TagGridState(context, {
      name: 'images',
      title: common.images,
      emptyTitle: m.emptyTitle,
      emptyHint: m.emptyHint,
      plugins: ['images'],
      defaultWidth: 440,
    });
    this.settings = createImageSettings(context.url);
    this.stepSelection = new StepSelection(context.url);
    this.stepLoader = new StepsQuery(this.cardGrid);
    this.imageLoader = new ImageLoader(context.api);
    this.hasOriginals = context.supports('GET images/file');
  }

  loadInfo(value: ImageValue): Promise<readonly ImageInfo[]> {
    return this.context.queries.fetch(imageInfoQuery, value.request);
  }

  /** Return the cached description of a value. */
  peekInfo(value: ImageValue): readonly ImageInfo[] | undefined {
    return this.context.queries.peek(imageInfoQuery, value.request);
  }

  /** False while images of the selected step are loading; playback waits. */
  get isReady(): boolean {
    return this.#pendingCount === 0;
  }

  /** Playback waits until the returned function is called. */
  beginLoading(): () => void {
    untrack(() => this.#pendingCount++);
    return () => untrack(() => this.#pendingCount--);
  }

  /** Call it where effects can be created. */
  startEffects(): void {
    this.cardGrid.startEffects();
    $effect(() => () => this.imageLoader.dispose());
    this.#resetWithCard();
  }

  withRuns(series: readonly SortedSteps[]): readonly RunSeries[] {
    return series.flatMap((steps) => {
      const run = this.context.runs.find(steps.run);
      return run ? [{ run, steps }] : [];
    });
  }

  /** Load the images of neighboring steps in advance. */
  async prefetchNeighbors(
    value: ImageValue,
    getPaths: (value: ImageValue, parts: readonly ImageInfo[]) => readonly string[],
  ): Promise<void> {
    for (const offset of PREFETCH_OFFSETS) {
      const neighbor = value.neighbor(offset);
      if (!neighbor) continue;
      const parts = await this.loadInfo(neighbor).catch(() => null);
      // A failure is shown when the user selects that step.
      if (parts) this.imageLoader.prefetch(getPaths(neighbor, parts));
    }
  }

  /** Show a card in full screen with two images to compare. */
  openComparison(cardId: string, series: readonly RunSeries[]): void {
    const { fullScreen } = this.cardGrid.settings;
    if (fullScreen.value !== cardId) fullScreen.set(cardId, 'push');
    this.settings.viewport.set(FIT_VIEWPORT);
    this.settings.comparedPair.set(findDefaultImagePair(series, this.settings.imageIndex.value));
  }

  closeComparison(): void {
    this.settings.viewport.set(FIT_VIEWPORT);
    this.settings.comparedPair.set(null);
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
        this.settings.imageIndex.set(null);
        this.settings.comparedPair.set(null);
      }
      previous = card;
    });
  }
}

export const [getImagesState, setImagesState] = createContext<ImagesState>();

/** Register the keyboard shortcuts of the dashboard; return a function that removes them. */
export function registerImageShortcuts(images: ImagesState): () => void {
  const { settings, cardGrid, stepSelection, stepLoader } = images;
  const { layout, actualSize, playAnimations, scaling } = settings;
  const toggleComparison = (): void => {
    const card = cardGrid.findCard(
      cardGrid.settings.fullScreen.value ?? cardGrid.activeCardId ?? '',
    );
    if (settings.comparedPair.value) images.closeComparison();
    else if (card) images.openComparison(card.id, images.withRuns(stepLoader.get(card.tag) ?? []));
  };
  const shortcuts: Omit<Shortcut, 'group'>[] = [
    {
      keys: 'g',
      label: m.shortcutsToggleGrid,
      run: () => layout.set(layout.value === 'grid' ? 'images' : 'grid'),
    },
    { keys: 'c', label: m.shortcutsToggleCompare, run: toggleComparison },
    { keys: 'a', label: m.shortcutsToggleActualSize, run: () => actualSize.set(!actualSize.value) },
    {
      keys: 'l',
      label: common.syncSteps,
      run: () => stepSelection.setLinked(!stepSelection.linked.value),
    },
    {
      keys: 'i',
      label: m.shortcutsToggleSmoothing,
      run: () => scaling.set(scaling.value === 'crisp' ? 'smooth' : 'crisp'),
    },
    {
      keys: 'k',
      label: m.shortcutsToggleAnimations,
      run: () => playAnimations.set(!playAnimations.value),
    },
  ];
  const stops = shortcuts.map((shortcut) =>
    cardGrid.context.shortcuts.register({ ...shortcut, group: cardGrid.info.title }),
  );
  return () => stops.forEach((stop) => stop());
}

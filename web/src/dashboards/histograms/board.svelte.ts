import { createContext } from 'svelte';

import type { ViewAsk } from '../../api/histograms';
import type { Problem } from '../../api/types';
import type { SpreadMode } from '../../charts/spread/types';
import type { Context } from '../../plugin/context';
import { TagWall, type TagWallAbout } from '../../wall/tag-wall.svelte';
import { Buckets } from './data/buckets.svelte';
import { Loader } from './data/loader.svelte';
import { Pointer } from './pointer.svelte';
import { openSettings, type Settings, USUAL_WIDTH } from './settings';

/** Which of the two tabs is open. */
export type Kind = 'histograms' | 'distributions';

const ABOUT: Readonly<Record<Kind, TagWallAbout>> = {
  histograms: {
    name: 'histograms',
    title: 'Histograms',
    noun: 'histograms',
    lesson: 'Weights or gradients logged at a step become a ridge here, within a second.',
    plugins: ['histograms'],
    usualWidth: USUAL_WIDTH,
  },
  distributions: {
    name: 'histograms',
    title: 'Distributions',
    noun: 'histograms',
    lesson: 'Weights or gradients logged as histograms become bands here, within a second.',
    plugins: ['histograms'],
    usualWidth: USUAL_WIDTH,
  },
};

/** All that the parts of the view share. */
export class Board extends TagWall {
  readonly kind: Kind;
  override readonly settings: Settings;
  readonly loader: Loader;
  readonly buckets: Buckets;
  readonly pointer = new Pointer();
  /** Why something that was asked for beside the cards did not come. */
  trouble = $state.raw<Problem | null>(null);

  readonly mode = $derived.by<SpreadMode>(() =>
    this.kind === 'histograms' ? this.settings.look.value : this.settings.bands.value,
  );
  readonly view = $derived.by<ViewAsk>(() => ({
    runs: this.runs,
    x: this.settings.x.value,
    bins: this.kind === 'histograms' ? this.settings.bins.value : 0,
    percentiles: true,
    ignore_outliers: this.settings.ignoreOutliers.value,
    most: MOST[this.mode],
    most_runs: 1,
  }));
  readonly log = $derived.by(() =>
    this.kind === 'histograms' ? this.settings.logCounts.value : this.settings.logValues.value,
  );

  constructor(context: Context, kind: Kind) {
    super(context, ABOUT[kind]);
    this.kind = kind;
    this.settings = openSettings(context);
    this.loader = new Loader(context.api, context.isStatic);
    this.buckets = new Buckets(context.api);
  }

  override follow(): void {
    super.follow();
    $effect(() => this.loader.show(this.view));
    $effect(() => {
      if (!this.context.live.paused) this.loader.refresh(this.revision);
    });
    $effect(() => () => this.loader.stop());
  }

  override letGo(): void {
    const { cursor } = this.context;
    if (cursor.pinned !== null) cursor.pin(null);
    else super.letGo();
  }
}

/** How many histograms of a run a chart has room for, until somebody looks at a part of it. */
const MOST: Readonly<Record<SpreadMode, number>> = {
  offset: 51,
  overlay: 51,
  heat: 400,
  bands: 1000,
  together: 500,
};

export const [getBoard, setBoard] = createContext<Board>();

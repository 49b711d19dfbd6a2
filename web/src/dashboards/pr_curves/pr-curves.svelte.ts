import { createContext } from 'svelte';

import type { TagRow } from '../../api/types';
import type { Context } from '../../plugin/context';
import { CardWall, type WallAbout } from '../../wall/card-wall.svelte';
import { buildSections } from '../../wall/sections';
import { StepChoice } from '../../wall/steps/choice';
import { StepLoader } from '../../wall/steps/loader.svelte';
import { buildClassSections, cardOf, type PrCard } from './cards/card';
import { CurveLoader } from './data/curves.svelte';
import { HistoryLoader } from './data/history.svelte';
import { Pointer } from './pointer.svelte';
import { openSettings, type Settings } from './settings';

const ABOUT: WallAbout = {
  name: 'pr_curves',
  title: 'PR curves',
  noun: 'PR curves',
  lesson: 'Labels and scores that are logged together become a curve here.',
};

/** All that the parts of the view share. To be made where effects live. */
export class PrCurves extends CardWall<PrCard> {
  readonly settings: Settings;
  readonly choice: StepChoice;
  readonly steps: StepLoader;
  readonly curves: CurveLoader;
  readonly history: HistoryLoader;
  readonly pointer = new Pointer();

  readonly sections = $derived.by(() => {
    const { filter, pinned, grouping } = this.settings;
    if (grouping.value === 'runs')
      return buildSections(this.rows, cardOf, { filter: filter.value, pinned: pinned.value });
    const { shown } = this.context.runs;
    return buildClassSections(this.rows, shown, (run, tag) => this.#has(run, tag), this.settings);
  });

  constructor(context: Context) {
    super(context, ABOUT);
    this.settings = openSettings(context);
    this.choice = new StepChoice(context.address);
    this.steps = new StepLoader(this);
    this.curves = new CurveLoader(context);
    this.history = new HistoryLoader(context);
  }

  override follow(): void {
    super.follow();
    $effect(() => this.history.show(this.runs));
    $effect(() => {
      if (!this.context.live.paused) this.history.refresh(this.revision);
    });
    // Which tags a run has is not known before its steps are.
    $effect(() => {
      if (this.settings.grouping.value !== 'classes') return;
      const stops = this.rows.map(({ tag }) => this.steps.want(tag));
      return () => stops.forEach((stop) => stop());
    });
    $effect(() => () => {
      this.curves.stop();
      this.history.stop();
    });
  }

  protected override shows({ plugin }: TagRow): boolean {
    return plugin === 'pr_curves';
  }

  override letGo(): void {
    const { threshold } = this.settings;
    if (threshold.value !== null) this.pin(null);
    else super.letGo();
  }

  pin(threshold: number | null): void {
    this.settings.threshold.set(threshold);
    if (threshold === null) this.pointer.pinned = null;
  }

  #has(run: string, tag: string): boolean {
    return this.steps.find(tag)?.some((steps) => steps.run === run) ?? false;
  }
}

export const [getPrCurves, setPrCurves] = createContext<PrCurves>();

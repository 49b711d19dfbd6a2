import { createContext } from 'svelte';

import { type TagGridInfo, TagGridState } from '../../cards/card-grid.svelte';
import type { TagCard } from '../../cards/card-sections';
import { StepSelection } from '../../cards/steps/step-selection.svelte';
import { StepsQuery } from '../../cards/steps/steps-query.svelte';
import type { Context } from '../../plugin/context';
import { TextSearch } from './text-search.svelte';
import { createTextSettings, defaultTextPair, type TextSettings } from './text-settings';

const DASHBOARD: TagGridInfo = {
  name: 'text',
  title: 'Text',
  noun: 'texts',
  emptyHint: 'A text logged at a step, plain or Markdown, becomes a card here, within a second.',
  plugins: ['text'],
  defaultWidth: 480,
};

/** All that the parts of the view share. To be made where effects live. */
export class TextState extends TagGridState {
  readonly textSettings: TextSettings;
  readonly stepSelection: StepSelection;
  readonly stepLoader: StepsQuery;
  readonly search: TextSearch;
  /** Texts that are on their way to the screen: who plays waits for them. */
  pendingCount = $state(0);

  constructor(context: Context) {
    super(context, DASHBOARD);
    this.textSettings = createTextSettings(context);
    this.stepSelection = new StepSelection(context.url);
    this.stepLoader = new StepsQuery(this);
    this.search = new TextSearch(this, this.textSettings);
  }

  override startEffects(): void {
    super.startEffects();
    this.search.follow();
    // A comparison has the whole page; it ends when the page is given back.
    $effect(() => {
      if (this.settings.fullScreen.value === null && this.textSettings.comparedPair.value !== null)
        this.textSettings.comparedPair.set(null);
    });
  }

  openComparison(card: TagCard): void {
    const pair = defaultTextPair(
      this.stepLoader.get(card.tag) ?? [],
      this.stepSelection.stepOf(card.id),
    );
    if (!pair) return;
    this.settings.fullScreen.set(card.id, 'push');
    this.textSettings.comparedPair.set(pair);
  }

  override clearSelection(): void {
    if (this.textSettings.comparedPair.value !== null)
      this.textSettings.comparedPair.set(null, 'push');
    else super.clearSelection();
  }
}

export const [getTextState, setTextState] = createContext<TextState>();

const MIN_CARD_HEIGHT_PX = 260;
const MAX_CARD_HEIGHT_PX = 520;
/** Lines of a comfortable length ask for a card that is not much higher than wide. */
const HEIGHT_TO_WIDTH = 0.7;

/** How high a card is in a column of that width, in pixels. */
export function textCardHeight(width: number): number {
  return Math.round(
    Math.min(MAX_CARD_HEIGHT_PX, Math.max(MIN_CARD_HEIGHT_PX, width * HEIGHT_TO_WIDTH)),
  );
}

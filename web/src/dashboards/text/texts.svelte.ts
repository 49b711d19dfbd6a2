import { createContext } from 'svelte';

import type { Context } from '../../plugin/context';
import type { TagCard } from '../../wall/card';
import { StepChoice } from '../../wall/steps/choice';
import { StepLoader } from '../../wall/steps/loader.svelte';
import { TagWall, type TagWallAbout } from '../../wall/tag-wall.svelte';
import { suggestPair } from './compare/pair';
import { TextValues } from './data/values';
import { Search } from './search/search.svelte';
import { type Look, openLook } from './settings';

const ABOUT: TagWallAbout = {
  name: 'text',
  title: 'Text',
  noun: 'texts',
  lesson: 'A text logged at a step, plain or Markdown, becomes a card here, within a second.',
  plugins: ['text'],
  usualWidth: 480,
};

/** All that the parts of the view share. To be made where effects live. */
export class Texts extends TagWall {
  readonly look: Look;
  readonly choice: StepChoice;
  readonly loader: StepLoader;
  readonly values: TextValues;
  readonly search: Search;
  /** Texts that are on their way to the screen: who plays waits for them. */
  waiting = $state(0);

  constructor(context: Context) {
    super(context, ABOUT);
    this.look = openLook(context);
    this.choice = new StepChoice(context.address);
    this.loader = new StepLoader(this);
    this.values = new TextValues(context.api);
    this.search = new Search(this, this.look);
  }

  override follow(): void {
    super.follow();
    this.search.follow();
    // A comparison has the whole page; it ends when the page is given back.
    $effect(() => {
      if (this.settings.fullScreen.value === null && this.look.pair.value !== null)
        this.look.pair.set(null);
    });
  }

  compare(card: TagCard): void {
    const pair = suggestPair(this.loader.find(card.tag) ?? [], this.choice.of(card.id));
    if (!pair) return;
    this.settings.fullScreen.set(card.id, 'push');
    this.look.pair.set(pair);
  }

  override letGo(): void {
    if (this.look.pair.value !== null) this.look.pair.set(null, 'push');
    else super.letGo();
  }
}

export const [getTexts, setTexts] = createContext<Texts>();

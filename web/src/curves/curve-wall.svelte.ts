import { createContext } from 'svelte';

import type { Problem, TagRow } from '../api/types';
import type { Api, Context } from '../plugin/context';
import { CardWall, type WallAbout } from '../wall/card-wall.svelte';
import type { CurveCard } from './card';
import { Captures } from './data/captures.svelte';
import { Loader } from './data/loader.svelte';
import { viewAsk } from './data/query';
import { TableLoader } from './data/tables.svelte';
import { Pointer } from './pointer.svelte';
import { openSettings, type Settings } from './state/settings';

/** A wall of cards of curves: all that the parts of such a view share. */
export abstract class CurveWall<C extends CurveCard = CurveCard> extends CardWall<C> {
  readonly settings: Settings;
  /** Where points come from. */
  readonly api: Api;
  readonly loader: Loader;
  readonly tables: TableLoader;
  readonly pointer: Pointer;
  readonly captures: Captures;
  /** Why something that was asked for beside the cards did not come. */
  trouble = $state.raw<Problem | null>(null);

  readonly view = $derived.by(() => viewAsk(this.settings, this.context.runs));

  constructor(
    context: Context,
    about: WallAbout,
    api: Api = context.api,
    settings: Settings = openSettings(context, about.name),
  ) {
    super(context, about);
    this.settings = settings;
    this.api = api;
    this.loader = new Loader(api);
    this.tables = new TableLoader(api);
    this.pointer = new Pointer(api);
    this.captures = new Captures(context);
  }

  override follow(): void {
    super.follow();
    $effect(() => this.loader.show(this.view, this.context.runs.shown.length));
    $effect(() => {
      const { pinned, range } = this.context.cursor;
      this.tables.show({ view: this.view, at: pinned, range });
    });
    $effect(() => {
      if (this.context.live.paused) return;
      this.loader.refresh(this.revision);
      this.tables.refresh();
    });
    this.captures.follow();
    $effect(() => () => this.loader.stop());
  }

  override letGo(): void {
    const { cursor } = this.context;
    if (cursor.pinned !== null) cursor.pin(null);
    else if (cursor.range !== null) cursor.select(null);
    else super.letGo();
  }

  protected override shows({ kind }: TagRow): boolean {
    return kind === 'scalar';
  }
}

export const [getCurves, setCurves] = createContext<CurveWall>();

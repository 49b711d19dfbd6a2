import { untrack } from 'svelte';

import { Asking } from '../../../../api/asking.svelte';
import type { Profile } from '../../profile.svelte';
import { bodyOf, type CaptureAsk } from '../../state/asks';
import type {
  ArrowsAnswer,
  CopyAnswer,
  EventAnswer,
  EventRow,
  SearchAnswer,
  SelectionAnswer,
  TimelineAnswer,
  TrackRow,
} from '../data/answers';
import { lightUp } from '../draw/light';
import type { Entry } from '../tiles/part';
import { TileStore } from '../tiles/store';
import { type Band, type Layout, layOut, LANE, topOf } from '../view/layout';
import type { Span } from '../view/span';
import { askWhenChanged } from './lookup.svelte';
import type { TraceParams } from './params.svelte';

/** A stretch of time, of some tracks. */
export interface Measured extends Span {
  readonly tracks: readonly number[];
}

/** One capture: its tracks, the tiles that have come of them, and what is asked about them. */
export class Model {
  readonly timeline: Asking<TimelineAnswer>;
  readonly event: Asking<EventAnswer>;
  readonly selection: Asking<SelectionAnswer>;
  readonly found: Asking<SearchAnswer>;
  readonly arrows: Asking<ArrowsAnswer>;

  store = $state.raw<TileStore | null>(null);
  /** Changes when tiles have come. */
  news = $state(0);
  scroll = $state(0);
  /** How wide and high the part is in which tracks are seen. */
  width = $state(0);
  height = $state(0);
  tries = $state(0);
  chosen = $state<number | null>(null);
  measured = $state.raw<Measured | null>(null);
  /** Which of the found events the page of answers begins with. */
  page = $state(0);
  /** The stretch for which arrows are wanted. */
  arrowSpan = $state.raw<Span | null>(null);

  readonly tracks = $derived.by<readonly TrackRow[]>(() => this.timeline.answer?.tracks ?? []);
  readonly layout: Layout = $derived.by(() =>
    layOut(this.tracks, {
      turned: this.params.turned.value,
      pinned: this.params.pinned.value,
      hidden: this.params.hidden.value,
    }),
  );
  /** What is looked for; null where nothing is. */
  readonly lit = $derived.by(() => {
    const { answer } = this.found;
    return answer && lightUp(answer.ids, answer.told);
  });

  constructor(
    readonly profile: Profile,
    readonly params: TraceParams,
    readonly ask: () => CaptureAsk | null,
  ) {
    const post = <Answer>(path: string, more: object, signal: AbortSignal): Promise<Answer> =>
      profile.api.post<Answer>(path, this.#body(more), signal);
    // While two captures are not compared, the second has nothing to ask the server about.
    const ifOpen =
      <Question>(question: () => Question | null): (() => Question | null) =>
      () =>
        ask() && question();
    this.timeline = askWhenChanged(
      () => (this.tries >= 0 ? ask() : null),
      (wanted, signal) =>
        profile.context.isStatic ? this.#takeCopy(wanted, signal) : post('timeline', {}, signal),
    );
    this.event = askWhenChanged(
      ifOpen(() => (this.chosen === null || this.isCopy ? null : { ...ask(), event: this.chosen })),
      ({ event }, signal) => post('timeline/event', { event }, signal),
      { kept: true },
    );
    this.selection = askWhenChanged(
      ifOpen(() => (this.isCopy ? null : this.measured)),
      (measured, signal) => post('timeline/selection', measured, signal),
      { after: 120, kept: true },
    );
    this.found = askWhenChanged(
      ifOpen(() => this.#question()),
      (question, signal) => post('timeline/search', question, signal),
      { after: 150, kept: true },
    );
    this.arrows = askWhenChanged(
      ifOpen(() => this.arrowSpan && { ...this.arrowSpan, tracks: this.shownTracks }),
      (question, signal) => post('timeline/flows', question, signal),
      { after: 120, kept: true },
    );
    $effect(() => {
      void this.timeline.answer;
      const store = new TileStore(
        (tiles, signal) => post('timeline/tiles', tiles, signal),
        () => this.news++,
      );
      untrack(() => this.#copy && fill(store, this.#copy));
      this.store = store;
      return () => store.stop();
    });
  }

  readonly shownTracks = $derived.by<readonly number[]>(() =>
    [...this.layout.pinned, ...this.layout.rest].map(({ track }) => track.id),
  );

  /** There is no server: what is drawn is all that is known. */
  get isCopy(): boolean {
    return this.profile.context.isStatic;
  }

  /** Asks once more after something went wrong. */
  again(): void {
    this.tries++;
  }

  /** The whole of the trace. */
  get whole(): Span | null {
    const { answer } = this.timeline;
    return answer && { start: answer.start_ps, end: answer.end_ps };
  }

  /** The band of a track, and how far below its own place it is seen. */
  bandOf(id: number): { readonly band: Band; readonly shift: number } | undefined {
    const { pinned, rest, pinnedHeight } = this.layout;
    const band = pinned.find(({ track }) => track.id === id);
    if (band) return { band, shift: 0 };
    const other = rest.find(({ track }) => track.id === id);
    return other && { band: other, shift: pinnedHeight - this.scroll };
  }

  trackOf(id: number): TrackRow | undefined {
    return this.tracks.find((track) => track.id === id);
  }

  scrollTo(top: number): void {
    const room = this.height - this.layout.pinnedHeight;
    this.scroll = Math.max(0, Math.min(top, this.layout.restHeight - room));
  }

  /** Opens and scrolls to the lane of an event, if it is not seen. */
  reveal({ track, lane }: Pick<EventRow, 'track' | 'lane'>): void {
    const { hidden } = this.params;
    if (hidden.value.includes(track)) hidden.set(hidden.value.filter((id) => id !== track));
    if (this.bandOf(track)?.band.isOpen === false) this.turn(track);
    const found = this.bandOf(track);
    if (!found || found.band.isPinned) return;
    const room = this.height - this.layout.pinnedHeight;
    const top = topOf(found.band, lane);
    if (top < this.scroll || top + LANE > this.scroll + room) this.scrollTo(top - room / 3);
  }

  /** Opens a track, or closes it. */
  turn(track: number): void {
    toggle(this.params.turned, track);
  }

  pin(track: number): void {
    toggle(this.params.pinned, track);
  }

  hide(track: number): void {
    toggle(this.params.hidden, track);
  }

  /** Finds out what an entry is called that was too small to come with its name. */
  nameOf({ event, name }: Pick<Entry, 'event' | 'name'>): void {
    const { store } = this;
    if (this.isCopy) return;
    this.#naming.abort();
    this.#naming = new AbortController();
    const body = this.#body({ event });
    this.profile.api
      .post<EventAnswer>('timeline/event', body, this.#naming.signal)
      .then(({ row }) => {
        store?.words.set(name, row.name);
        this.news++;
      })
      .catch(() => undefined); // It is only a name; a click tells what is wrong.
  }

  #naming = new AbortController();
  #copy: CopyAnswer | null = null;

  async #takeCopy(ask: CaptureAsk, signal: AbortSignal): Promise<TimelineAnswer> {
    const { capture } = ask;
    const path = `timeline?capture=${encodeURIComponent(capture)}`;
    this.#copy = await this.profile.api.get<CopyAnswer>(path, signal);
    return this.#copy.timeline;
  }

  #body(more: object): object {
    const ask = untrack(this.ask);
    return ask ? bodyOf(ask, more) : more;
  }

  #question(): object | null {
    const { find, findRegex, findArguments } = this.params;
    if (find.value.trim() === '') return null;
    return {
      query: find.value,
      regex: findRegex.value,
      arguments: findArguments.value,
      offset: this.page,
    };
  }
}

function fill(store: TileStore, { timeline, level, first, last, tiles }: CopyAnswer): void {
  store.fill({ level, first, last, tracks: timeline.tracks.map(({ id }) => id) }, tiles);
}

function toggle(param: TraceParams['pinned'], track: number): void {
  const { value } = param;
  param.set(value.includes(track) ? value.filter((id) => id !== track) : [...value, track]);
}

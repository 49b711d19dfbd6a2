import { untrack } from 'svelte';

import { Query } from '../../../api/query.svelte';
import * as codec from '../../../lib/codecs';
import type { Param } from '../../../plugin/context';
import { type CaptureRequest, makeRequestBody } from '../captures';
import type { ProfileState } from '../profile-state.svelte';
import type {
  EventDetails,
  EventRow,
  FlowArrows,
  SearchResult,
  SelectionSummary,
  StaticTimeline,
  TimelineResponse,
  TrackRow,
} from '../schemas';
import { makeHighlight } from './timeline/bar-renderer';
import { TileCache, type TileEntry } from './timeline/tile-cache';
import type { TimeSpan } from './timeline/time-axis';
import {
  getLaneTop,
  LANE_HEIGHT_PX,
  layoutTracks,
  type TrackBand,
  type TrackLayout,
} from './timeline/track-layout';

export type TraceParams = ReturnType<typeof openTraceParams>;

/** Numbers of tracks. */
const trackIdsCodec: codec.Codec<readonly number[]> = {
  parse: (text) => text.split('.').map(Number).filter(Number.isInteger),
  format: (ids) => ids.join('.'),
};

/** What of the trace is seen, beside where in it: tracks that are pinned, hidden, open or not. */
export function openTraceParams(profile: ProfileState) {
  return {
    ...profile.params,
    pinned: profile.param('trace-pinned', trackIdsCodec, []),
    hidden: profile.param('trace-hidden', trackIdsCodec, []),
    turned: profile.param('trace-turned', trackIdsCodec, []),
    /** A stretch that is measured, in microseconds as the span. */
    measured: profile.param('trace-measured', codec.range, null),
    colour: profile.param('trace-colour', codec.choice(['name', 'track'], 'name'), 'name'),
    arrows: profile.param('trace-arrows', codec.flag, false),
  };
}

/** The same for a second capture: which of its tracks are pinned is not in the address. */
export function makeLocalTraceParams(params: TraceParams): TraceParams {
  return {
    ...params,
    pinned: makeLocalParam(),
    hidden: makeLocalParam(),
    turned: makeLocalParam(),
  };
}

function makeLocalParam(): Param<readonly number[]> {
  let value = $state.raw<readonly number[]>([]);
  return {
    get value() {
      return value;
    },
    set(next) {
      value = next;
    },
  };
}

/** Asks whenever a question that is read in an effect changes, after it has stood for a while. */
export function createDebouncedQuery<Question, Answer>(
  question: () => Question | null,
  ask: (question: Question, signal: AbortSignal) => Promise<Answer>,
  { after = 0, kept = false } = {},
): Query<Answer> {
  const asking = new Query<Answer>();
  $effect(() => {
    const wanted = question();
    const timer = setTimeout(
      () => untrack(() => asking.run(wanted && ((signal) => ask(wanted, signal)), kept)),
      after,
    );
    return () => clearTimeout(timer);
  });
  $effect(() => () => asking.stop());
  return asking;
}

/** A stretch of time, of some tracks. */
export interface MeasuredRange extends TimeSpan {
  readonly tracks: readonly number[];
}

/** One capture: its tracks, the tiles that have come of them, and what is asked about them. */
export class TraceModel {
  readonly timelineQuery: Query<TimelineResponse>;
  readonly eventQuery: Query<EventDetails>;
  readonly rangeQuery: Query<SelectionSummary>;
  readonly searchQuery: Query<SearchResult>;
  readonly flowsQuery: Query<FlowArrows>;

  tiles = $state.raw<TileCache | null>(null);
  /** Changes when tiles have come. */
  tilesRevision = $state(0);
  scroll = $state(0);
  /** How wide and high the part is in which tracks are seen. */
  width = $state(0);
  height = $state(0);
  retryCount = $state(0);
  selectedEvent = $state<number | null>(null);
  measured = $state.raw<MeasuredRange | null>(null);
  /** Which of the found events the page of answers begins with. */
  searchOffset = $state(0);
  /** The stretch for which arrows are wanted. */
  flowSpan = $state.raw<TimeSpan | null>(null);

  readonly tracks = $derived.by<readonly TrackRow[]>(() => this.timelineQuery.data?.tracks ?? []);
  readonly layout: TrackLayout = $derived.by(() =>
    layoutTracks(this.tracks, {
      toggled: this.params.turned.value,
      pinned: this.params.pinned.value,
      hidden: this.params.hidden.value,
    }),
  );
  /** What is looked for; null where nothing is. */
  readonly highlight = $derived.by(() => {
    const { data } = this.searchQuery;
    return data && makeHighlight(data.ids, data.told);
  });

  constructor(
    readonly profile: ProfileState,
    readonly params: TraceParams,
    readonly request: () => CaptureRequest | null,
  ) {
    const post = <Answer>(path: string, more: object, signal: AbortSignal): Promise<Answer> =>
      profile.api.post<Answer>(path, this.#body(more), signal);
    // While two captures are not compared, the second has nothing to ask the server about.
    const ifOpen =
      <Question>(question: () => Question | null): (() => Question | null) =>
      () =>
        request() && question();
    this.timelineQuery = createDebouncedQuery(
      () => (this.retryCount >= 0 ? request() : null),
      (wanted, signal) =>
        profile.context.isStatic ? this.#takeCopy(wanted, signal) : post('timeline', {}, signal),
    );
    this.eventQuery = createDebouncedQuery(
      ifOpen(() =>
        this.selectedEvent === null || this.isStatic
          ? null
          : { ...request(), event: this.selectedEvent },
      ),
      ({ event }, signal) => post('timeline/event', { event }, signal),
      { kept: true },
    );
    this.rangeQuery = createDebouncedQuery(
      ifOpen(() => (this.isStatic ? null : this.measured)),
      (measured, signal) => post('timeline/selection', measured, signal),
      { after: 120, kept: true },
    );
    this.searchQuery = createDebouncedQuery(
      ifOpen(() => this.#question()),
      (question, signal) => post('timeline/search', question, signal),
      { after: 150, kept: true },
    );
    this.flowsQuery = createDebouncedQuery(
      ifOpen(() => this.flowSpan && { ...this.flowSpan, tracks: this.shownTracks }),
      (question, signal) => post('timeline/flows', question, signal),
      { after: 120, kept: true },
    );
    $effect(() => {
      void this.timelineQuery.data;
      const store = new TileCache(
        (tiles, signal) => post('timeline/tiles', tiles, signal),
        () => this.tilesRevision++,
      );
      untrack(() => this.#copy && fillTiles(store, this.#copy));
      this.tiles = store;
      return () => store.dispose();
    });
  }

  readonly shownTracks = $derived.by<readonly number[]>(() =>
    [...this.layout.pinned, ...this.layout.unpinned].map(({ track }) => track.id),
  );

  /** There is no server: what is drawn is all that is known. */
  get isStatic(): boolean {
    return this.profile.context.isStatic;
  }

  /** Asks once more after something went wrong. */
  retry(): void {
    this.retryCount++;
  }

  /** The whole of the trace. */
  get bounds(): TimeSpan | null {
    const { data } = this.timelineQuery;
    return data && { start: data.start_ps, end: data.end_ps };
  }

  /** The band of a track, and how far below its own place it is seen. */
  findBand(id: number): { readonly band: TrackBand; readonly shift: number } | undefined {
    const { pinned, unpinned, pinnedHeight } = this.layout;
    const band = pinned.find(({ track }) => track.id === id);
    if (band) return { band, shift: 0 };
    const other = unpinned.find(({ track }) => track.id === id);
    return other && { band: other, shift: pinnedHeight - this.scroll };
  }

  findTrack(id: number): TrackRow | undefined {
    return this.tracks.find((track) => track.id === id);
  }

  scrollTo(top: number): void {
    const room = this.height - this.layout.pinnedHeight;
    this.scroll = Math.max(0, Math.min(top, this.layout.unpinnedHeight - room));
  }

  /** Opens and scrolls to the lane of an event, if it is not seen. */
  revealLane({ track, lane }: Pick<EventRow, 'track' | 'lane'>): void {
    const { hidden } = this.params;
    if (hidden.value.includes(track)) hidden.set(hidden.value.filter((id) => id !== track));
    if (this.findBand(track)?.band.isExpanded === false) this.toggleExpanded(track);
    const found = this.findBand(track);
    if (!found || found.band.isPinned) return;
    const room = this.height - this.layout.pinnedHeight;
    const top = getLaneTop(found.band, lane);
    if (top < this.scroll || top + LANE_HEIGHT_PX > this.scroll + room)
      this.scrollTo(top - room / 3);
  }

  /** Opens a track, or closes it. */
  toggleExpanded(track: number): void {
    toggleTrack(this.params.turned, track);
  }

  togglePinned(track: number): void {
    toggleTrack(this.params.pinned, track);
  }

  toggleHidden(track: number): void {
    toggleTrack(this.params.hidden, track);
  }

  /** Finds out what an entry is called that was too small to come with its name. */
  loadName({ event, name }: Pick<TileEntry, 'event' | 'name'>): void {
    const { tiles } = this;
    if (this.isStatic) return;
    this.#naming.abort();
    this.#naming = new AbortController();
    const body = this.#body({ event });
    this.profile.api
      .post<EventDetails>('timeline/event', body, this.#naming.signal)
      .then(({ row }) => {
        tiles?.names.set(name, row.name);
        this.tilesRevision++;
      })
      .catch(() => undefined); // It is only a name; a click tells what is wrong.
  }

  #naming = new AbortController();
  #copy: StaticTimeline | null = null;

  async #takeCopy(ask: CaptureRequest, signal: AbortSignal): Promise<TimelineResponse> {
    const { capture } = ask;
    const path = `timeline?capture=${encodeURIComponent(capture)}`;
    this.#copy = await this.profile.api.get<StaticTimeline>(path, signal);
    return this.#copy.timeline;
  }

  #body(more: object): object {
    const ask = untrack(this.request);
    return ask ? makeRequestBody(ask, more) : more;
  }

  #question(): object | null {
    const { find, findRegex, findArguments } = this.params;
    if (find.value.trim() === '') return null;
    return {
      query: find.value,
      regex: findRegex.value,
      arguments: findArguments.value,
      offset: this.searchOffset,
    };
  }
}

function fillTiles(
  store: TileCache,
  { timeline, level, first, last, tiles }: StaticTimeline,
): void {
  store.fill({ level, first, last, tracks: timeline.tracks.map(({ id }) => id) }, tiles);
}

function toggleTrack(param: TraceParams['pinned'], track: number): void {
  const { value } = param;
  param.set(value.includes(track) ? value.filter((id) => id !== track) : [...value, track]);
}

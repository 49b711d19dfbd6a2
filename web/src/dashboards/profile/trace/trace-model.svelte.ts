import { untrack } from 'svelte';

import { type Query, QueryObserver } from '../../../api/create-query.svelte';
import type {
  CaptureRequest,
  CountersResponse,
  EventBox,
  EventDetails,
  EventRow,
  EventSet,
  FlowArrows,
  QueryResult,
  SearchResult,
  SelectionSummary,
  TimelineResponse,
  TimeNote,
  TrackRow,
} from '../../../api/schemas';
import type { Param } from '../../../plugin/context';
import type { ProfileParams } from '../captures';
import type { ProfileState } from '../profile-state.svelte';
import * as queries from '../query';
import { listPlaces, type RowPlace } from '../tools/sql-result';
import { makeHighlight } from './timeline/bar-renderer';
import { TileCache, type TileEntry } from './timeline/tile-cache';
import {
  EMPTY_SELECTION,
  isEmptySelection,
  getLaneTop,
  LANE_HEIGHT_PX,
  layoutTracks,
  moveId,
  trimOrder,
  type TimeSpan,
  type TrackBand,
  type TrackLayout,
} from './timeline/timeline-layout';

const RANGE_DEBOUNCE_MS = 120;
const SEARCH_DEBOUNCE_MS = 150;
/** Number of values of a counter that are requested at most. */
const MAX_CELLS = 10_000;

/** Return parameters for the baseline capture: its tracks and events are not in the URL. */
export function makeBaselineParams(params: ProfileParams): ProfileParams {
  return {
    ...params,
    pinned: makeLocalParam<readonly number[]>([]),
    hidden: makeLocalParam<readonly number[]>([]),
    order: makeLocalParam<readonly number[]>([]),
    toggled: makeLocalParam<readonly number[]>([]),
    selection: makeLocalParam(EMPTY_SELECTION),
    // The rows of a query are those of the current capture.
    marksRows: makeLocalParam(false),
  };
}

function makeLocalParam<Value>(initial: Value): Param<Value> {
  let value = $state.raw(initial);
  return {
    get value() {
      return value;
    },
    set(next) {
      value = next;
    },
  };
}

/** A rectangle of the timeline, in pixels from its upper left corner. */
export interface BoxPx {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/** A range of time in some tracks. */
export interface MeasuredRange extends TimeSpan {
  readonly tracks: readonly number[];
}

/** The trace of one capture: its tracks and tiles, the selection and the search. */
export class TraceModel {
  readonly timelineQuery: Query<TimelineResponse>;
  readonly eventQuery: Query<EventDetails>;
  readonly rangeQuery: Query<SelectionSummary>;
  readonly eventSetQuery: Query<EventSet>;
  readonly rowsQuery: Query<QueryResult>;
  readonly searchQuery: Query<SearchResult>;
  readonly flowsQuery: Query<FlowArrows>;
  readonly countersQuery: Query<CountersResponse>;
  readonly notesQuery: Query<readonly TimeNote[]>;

  tiles = $state.raw<TileCache | null>(null);
  /** Changes when tiles arrive. */
  tilesRevision = $state(0);
  scroll = $state(0);
  /** Size of the area with the tracks. */
  width = $state(0);
  height = $state(0);
  selectedEvent = $state<number | null>(null);
  measured = $state.raw<MeasuredRange | null>(null);
  /** The rectangle that is being dragged, in pixels. */
  draggedBox = $state.raw<BoxPx | null>(null);
  /** Number of matches before the current page of the search. */
  searchOffset = $state(0);
  /** The range in which counters are shown. */
  counterSpan = $state.raw<TimeSpan | null>(null);
  /** The range in which flows are shown. */
  flowSpan = $state.raw<TimeSpan | null>(null);
  readonly #getCapture: () => string;
  /** An entry whose name did not come with its tile. */
  #unnamedEntry = $state.raw<Pick<TileEntry, 'event' | 'name'> | null>(null);

  readonly tracks = $derived.by<readonly TrackRow[]>(() => this.timelineQuery.data?.tracks ?? []);
  readonly layout: TrackLayout = $derived.by(() =>
    layoutTracks(this.tracks, {
      toggled: this.params.toggled.value,
      pinned: this.params.pinned.value,
      hidden: this.params.hidden.value,
      order: this.params.order.value,
    }),
  );
  /** The rows of the SQL query that have a place in the trace; null if they are not marked. */
  readonly rows = $derived.by<readonly RowPlace[] | null>(() => {
    const { data } = this.rowsQuery;
    return this.params.marksRows.value && data ? listPlaces(data) : null;
  });
  /** The selected events, or those of the rows of a query; null if there are none. */
  readonly eventSet = $derived.by<EventSet | null>(() =>
    this.#getSelection() ? (this.eventSetQuery.data ?? null) : null,
  );
  /** What is marked, in the order in which it is visited. */
  readonly places = $derived.by<readonly RowPlace[]>(() => {
    if (this.rows) return this.rows;
    const { eventSet } = this;
    if (!eventSet) return [];
    return Array.from(eventSet.event, (event, index) => {
      const start = eventSet.start_ps[index] ?? 0;
      return { event, start, end: start + (eventSet.duration_ps[index] ?? 0) };
    });
  });
  /** The matches of the search; null without one. */
  readonly highlight = $derived.by(() => {
    const { data } = this.searchQuery;
    return data ? makeHighlight(data.name_ids, data.matches) : null;
  });
  readonly shownTracks = $derived.by<readonly number[]>(() =>
    [...this.layout.pinned, ...this.layout.unpinned].map(({ track }) => track.id),
  );

  /** `getRequest` returns null for the baseline while no captures are compared. */
  constructor(
    readonly profile: ProfileState,
    readonly params: ProfileParams,
    getRequest: () => CaptureRequest | null,
  ) {
    const { context } = profile;
    this.#getCapture = () => getRequest()?.capture ?? '';
    /** Add fields to the request; null if there is nothing to request. */
    const addFields = <Fields extends object>(
      fields: Fields | null,
    ): (CaptureRequest & Fields) | null => {
      const request = getRequest();
      // Before the captures are listed, there is none to ask about.
      const isReady = request !== null && request.capture !== '' && this.canInspect;
      return isReady && fields ? { ...request, ...fields } : null;
    };
    this.timelineQuery = context.query(queries.timelineQuery, getRequest, { keepPrevious: false });
    this.eventQuery = context.query(queries.eventQuery, () =>
      addFields(this.selectedEvent === null ? null : { event: this.selectedEvent }),
    );
    this.rangeQuery = context.query(queries.selectionQuery, () => addFields(this.measured), {
      debounceMs: RANGE_DEBOUNCE_MS,
    });
    this.rowsQuery = context.query(queries.sqlQuery, () => {
      const { marksRows, sql } = this.params;
      return addFields(marksRows.value && sql.value !== '' ? { sql: sql.value } : null);
    });
    this.eventSetQuery = context.query(queries.eventSetQuery, () =>
      addFields(this.#getSelection()),
    );
    this.searchQuery = context.query(queries.searchQuery, () => addFields(this.#getSearch()), {
      debounceMs: SEARCH_DEBOUNCE_MS,
    });
    this.flowsQuery = context.query(
      queries.flowsQuery,
      () => addFields(this.flowSpan && { ...this.flowSpan, tracks: this.shownTracks }),
      { debounceMs: RANGE_DEBOUNCE_MS },
    );
    // Static exports have counters, too.
    this.countersQuery = context.query(
      queries.countersQuery,
      () => {
        const [request, span] = [getRequest(), this.counterSpan];
        if (!request || request.capture === '' || !span || this.width === 0) return null;
        return { ...request, ...span, cells: Math.min(Math.ceil(this.width), MAX_CELLS) };
      },
      { debounceMs: RANGE_DEBOUNCE_MS },
    );
    this.notesQuery = context.query(queries.notesQuery, () => {
      const capture = this.#getCapture();
      return capture === '' || !this.canInspect ? null : { capture };
    });
    const nameQuery = context.query(
      queries.eventQuery,
      () => addFields(this.#unnamedEntry && { event: this.#unnamedEntry.event }),
      { keepPrevious: false },
    );
    $effect(() => {
      const [entry, row] = [this.#unnamedEntry, nameQuery.data?.row];
      if (!entry || row?.event !== entry.event) return;
      untrack(() => {
        this.tiles?.names.set(entry.name, row.name);
        this.#unnamedEntry = null;
        this.tilesRevision++;
      });
    });
    $effect(() => {
      const [request, timeline] = [getRequest(), this.timelineQuery.data];
      return untrack(() => this.#openTiles(request, timeline));
    });
  }

  /** Whether events can be searched and inspected; a static export only shows them. */
  get canInspect(): boolean {
    return this.profile.context.supports(queries.eventQuery.route);
  }

  /** Start and end of the trace. */
  get bounds(): TimeSpan | null {
    const { data } = this.timelineQuery;
    return data ? { start: data.start_ps, end: data.end_ps } : null;
  }

  /** Return the band of a track, and the offset at which it is drawn. */
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
    const visibleHeight = this.height - this.layout.pinnedHeight;
    this.scroll = Math.max(0, Math.min(top, this.layout.unpinnedHeight - visibleHeight));
  }

  /** Expand and scroll to the lane of an event. */
  revealLane({ track, lane }: Pick<EventRow, 'track' | 'lane'>): void {
    const { hidden } = this.params;
    if (hidden.value.includes(track)) hidden.set(hidden.value.filter((id) => id !== track));
    if (this.findBand(track)?.band.isExpanded === false) this.toggleExpanded(track);
    const found = this.findBand(track);
    if (!found || found.band.isPinned) return;
    const visibleHeight = this.height - this.layout.pinnedHeight;
    const top = getLaneTop(found.band, lane);
    if (top < this.scroll || top + LANE_HEIGHT_PX > this.scroll + visibleHeight)
      this.scrollTo(top - visibleHeight / 3);
  }

  toggleExpanded(track: number): void {
    toggleTrack(this.params.toggled, track);
  }

  togglePinned(track: number): void {
    toggleTrack(this.params.pinned, track);
  }

  /** Move a track in front of the one at an index of the pinned, or else of the other tracks. */
  moveTrack({ track, isPinned }: TrackBand, index: number): void {
    const { pinned, order } = this.params;
    const bands = isPinned ? this.layout.pinned : this.layout.unpinned;
    const ids = moveId(
      bands.map((band) => band.track.id),
      track.id,
      Math.min(Math.max(index, 0), bands.length),
    );
    const defaults = this.tracks.map(({ id }) => id);
    if (isPinned) pinned.set(ids);
    else order.set(trimOrder(ids, defaults));
  }

  /** Start of the measured range or else of the selected event, for a note. */
  get notePs(): number | null {
    if (this.measured) return this.measured.start;
    const row = this.selectedEvent === null ? null : this.eventQuery.data?.row;
    return row ? row.start_ps : null;
  }

  async addNote(time_ps: number, text: string): Promise<void> {
    const { queries: cache } = this.profile.context;
    const capture = this.#getCapture();
    await cache.mutate('POST profile/timeline/add-note', { capture, time_ps, text });
    cache.invalidate(queries.notesQuery);
  }

  async deleteNote(id: string): Promise<void> {
    const { queries: cache } = this.profile.context;
    await cache.mutate('POST profile/timeline/delete-note', { capture: this.#getCapture(), id });
    cache.invalidate(queries.notesQuery);
  }

  toggleHidden(track: number): void {
    toggleTrack(this.params.hidden, track);
  }

  /** Request the name of an entry that is too short to come with its name. */
  loadName(entry: Pick<TileEntry, 'event' | 'name'>): void {
    this.#unnamedEntry = entry;
  }

  #openTiles(
    request: CaptureRequest | null,
    timeline: TimelineResponse | undefined,
  ): (() => void) | undefined {
    this.tiles = null;
    if (!request || !timeline) return undefined;
    const tiles = new TileCache(
      (listener) => {
        const { queries: cache } = this.profile.context;
        const options = { keepPrevious: false };
        const observer = new QueryObserver(cache, queries.tilesQuery, options, listener);
        return {
          setRequest: (range) => observer.setRequest({ ...request, ...range }),
          retry: () => observer.retry(),
          dispose: () => observer.dispose(),
        };
      },
      () => this.tilesRevision++,
    );
    const { exported, tracks } = timeline;
    if (exported) tiles.fetchExported({ ...exported, tracks: tracks.map(({ id }) => id) });
    this.tiles = tiles;
    return () => tiles.dispose();
  }

  #getSelection(): { events: readonly number[]; boxes: readonly EventBox[] } | null {
    const events = this.rows?.flatMap(({ event }) => event ?? []);
    const selection = events ? { events, boxes: [] } : this.params.selection.value;
    return isEmptySelection(selection) ? null : selection;
  }

  #getSearch() {
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

function toggleTrack(param: ProfileParams['pinned'], track: number): void {
  const { value } = param;
  param.set(value.includes(track) ? value.filter((id) => id !== track) : [...value, track]);
}

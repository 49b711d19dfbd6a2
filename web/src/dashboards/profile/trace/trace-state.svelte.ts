import { createContext, untrack } from 'svelte';

import type { ProfileState } from '../profile-state.svelte';
import type { EventRow } from '../schemas';
import {
  addMargin,
  clampSpan,
  getSpanLength,
  interpolateSpan,
  looksEqual,
  padSpan,
  shiftSpan,
  type TimeSpan,
  zoomSpan,
} from './timeline/time-axis';
import {
  makeLocalTraceParams,
  openTraceParams,
  TraceModel,
  type TraceParams,
} from './trace-model.svelte';

/** How much of the way is made in a frame. */
const EASING_PER_FRAME = 0.3;

/** Which stretch of time is seen. What is asked for is gone to smoothly, where motion is wanted. */
export class TraceViewport {
  span = $state.raw<TimeSpan>({ start: 0, end: 1 });
  #whole = $state.raw<TimeSpan>({ start: 0, end: 1 });
  #target: TimeSpan = { start: 0, end: 1 };
  #frame = 0;

  get bounds(): TimeSpan {
    return this.#whole;
  }

  get isAnimating(): boolean {
    return this.#frame !== 0;
  }

  /** Says how long the trace is. */
  setBounds(trace: TimeSpan): void {
    this.#whole = addMargin(trace);
  }

  /** Is there at once. */
  jumpTo(span: TimeSpan): void {
    this.#stop();
    this.span = this.#target = clampSpan(span, this.#whole);
  }

  animateTo(span: TimeSpan): void {
    this.#target = clampSpan(span, this.#whole);
    if (matchMedia('(prefers-reduced-motion: reduce)').matches) this.jumpTo(span);
    else if (this.#frame === 0) this.#step();
  }

  /** Zooms around a place, a part of the width; from where it is going, not from where it is. */
  zoomBy(by: number, around = 0.5): void {
    const { start } = this.#target;
    this.animateTo(zoomSpan(this.#target, by, start + around * getSpanLength(this.#target)));
  }

  /** Moves by a part of the width. */
  panBy(share: number): void {
    this.animateTo(shiftSpan(this.#target, share * getSpanLength(this.#target)));
  }

  resetZoom(): void {
    this.animateTo(this.#whole);
  }

  stop(): void {
    this.#stop();
  }

  #step = (): void => {
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      const near = interpolateSpan(this.span, this.#target, EASING_PER_FRAME);
      const isThere = looksEqual(near, this.#target);
      this.span = isThere ? this.#target : near;
      if (!isThere) this.#step();
    });
  };

  #stop(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
  }
}

/** So many found events come at once; the server says so as well. */
const SEARCH_PAGE_SIZE = 2000;

/** Goes from one found event to the next. */
export class SearchNavigator {
  constructor(
    readonly trace: TraceState,
    readonly model: TraceModel,
  ) {}

  /** Which of all that were found is chosen; null where none of them is. */
  readonly index = $derived.by(() => {
    const { selectedEvent, searchQuery } = this.model;
    if (selectedEvent === null || !searchQuery.data) return null;
    const at = searchQuery.data.event.indexOf(selectedEvent);
    return at < 0 ? null : searchQuery.data.offset + at;
  });

  /** To the next one, or with −1 the one before; from where one is looking, if none is chosen. */
  moveBy(by: 1 | -1): void {
    const { data } = this.model.searchQuery;
    if (!data || data.count === 0) return;
    const next = this.index === null ? this.#near(by) : this.index + by;
    const at = (next + data.count) % data.count;
    const event = data.event[at - data.offset];
    if (event === undefined)
      this.model.searchOffset = Math.floor(at / SEARCH_PAGE_SIZE) * SEARCH_PAGE_SIZE;
    else this.trace.goToEvent(this.model, event);
  }

  /** The first one in the stretch that is seen, or after it. */
  #near(by: 1 | -1): number {
    const { data } = this.model.searchQuery;
    const moment = this.trace.viewport.span.start + this.trace.getOffset(this.model);
    const at = data?.start.findIndex((start) => start >= moment) ?? 0;
    const first = at < 0 ? 0 : at;
    return (data?.offset ?? 0) + (by > 0 ? first : first - 1);
  }
}

const PS_PER_US = 1e6;
const PS_PER_NS = 1e3;
/** What is seen is written into the address when it has stood for so long. */
const URL_DEBOUNCE_MS = 350;
/** Where there is less room, details cover what they are of: they come when they are asked for. */
const MIN_PANEL_WIDTH_PX = 760;
/** An event narrower than this part of the screen is zoomed to when it is gone to. */
const MIN_EVENT_SHARE = 1 / 300;

const spanFromUs = ([from, to]: readonly [number, number]): TimeSpan => ({
  start: from * PS_PER_US,
  end: to * PS_PER_US,
});

/** To the nanosecond: more would make addresses long that nobody sees more by. */
const spanToUs = ({ start, end }: TimeSpan): [number, number] => [
  Math.round(start / PS_PER_NS) / 1000,
  Math.round(end / PS_PER_NS) / 1000,
];

/** The trace viewer: what is seen of one capture, or of two below each other on one axis. */
export class TraceState {
  readonly params: TraceParams;
  readonly viewport = new TraceViewport();
  readonly current: TraceModel;
  readonly baseline: TraceModel;
  readonly searchNavigator: SearchNavigator;
  /** Of which of them details are told. */
  active = $state.raw<TraceModel>() as TraceModel;
  isPanelOpen = $state(innerWidth > MIN_PANEL_WIDTH_PX);
  /** Where the pointer is, in the time of the first capture. */
  cursorPs = $state<number | null>(null);

  constructor(readonly profile: ProfileState) {
    this.params = openTraceParams(profile);
    this.current = new TraceModel(profile, this.params, () => profile.request);
    this.baseline = new TraceModel(
      profile,
      makeLocalTraceParams(this.params),
      () => profile.baselineRequest,
    );
    this.active = this.current;
    this.searchNavigator = new SearchNavigator(this, this.current);
    this.#follow();
  }

  get models(): readonly TraceModel[] {
    return this.profile.baselineRequest ? [this.current, this.baseline] : [this.current];
  }

  /** How much later the same moment is in a capture than in the first: its first step counts. */
  getOffset(model: TraceModel): number {
    const [mine, first] = [model, this.current].map(
      ({ timelineQuery }) =>
        timelineQuery.data?.steps.start[0] ?? timelineQuery.data?.start_ps ?? 0,
    );
    return model === this.current ? 0 : (mine ?? 0) - (first ?? 0);
  }

  /** What is seen, in the time of a capture. */
  getVisibleSpan(model: TraceModel): TimeSpan {
    return shiftSpan(this.viewport.span, this.getOffset(model));
  }

  /** All of the first capture, in the time of another. */
  getBounds(model: TraceModel): TimeSpan {
    return shiftSpan(this.viewport.bounds, this.getOffset(model));
  }

  /** Goes to an event and tells all about it. */
  selectEvent(model: TraceModel, event: number | null): void {
    this.active = model;
    model.selectedEvent = event;
    if (event !== null) this.isPanelOpen = true;
    if (model === this.current) this.params.event.set(event);
  }

  /** Measures a stretch of time, of all tracks or of some. */
  measureRange(
    model: TraceModel,
    span: TimeSpan | null,
    tracks: readonly number[] = model.shownTracks,
  ): void {
    this.active = model;
    if (span) this.isPanelOpen = true;
    model.measured = span && { ...span, tracks };
    if (model === this.current) this.params.measured.set(span && spanToUs(span));
  }

  measureSelectedEvent(): void {
    const row = this.active.eventQuery.data?.row;
    if (this.active.selectedEvent === null || !row) return;
    this.measureRange(this.active, { start: row.start_ps, end: row.start_ps + row.duration_ps });
  }

  /** Where the pointer is, as a part of the width; null where it is elsewhere. */
  get cursorFraction(): number | null {
    const { span } = this.viewport;
    return this.cursorPs === null ? null : (this.cursorPs - span.start) / getSpanLength(span);
  }

  /** Looks for events in the whole trace. */
  search(text: string): void {
    for (const model of this.models) model.searchOffset = 0;
    this.params.find.set(text);
  }

  /** Looks for all events of one name, and of no other. */
  searchExactName(name: string): void {
    for (const how of [this.params.findRegex, this.params.findArguments]) how.set(false);
    this.search(`"${name}"`);
  }

  clearSelection(): void {
    for (const model of this.models) {
      this.measureRange(model, null);
      this.selectEvent(model, null);
    }
  }

  /** Lets an event be seen: near enough, and not covered. */
  revealEvent(model: TraceModel, row: EventRow): void {
    model.revealLane(row);
    const shift = this.getOffset(model);
    const event = { start: row.start_ps - shift, end: row.start_ps + row.duration_ps - shift };
    const { span } = this.viewport;
    const share = getSpanLength(event) / getSpanLength(span);
    if (share < MIN_EVENT_SHARE || share > 1) this.viewport.animateTo(padSpan(event));
    else if (event.start < span.start || event.end > span.end)
      this.viewport.animateTo(centerOn(event, span));
  }

  /** Chooses an event and shows it as soon as it is known where it is. */
  goToEvent(model: TraceModel, event: number): void {
    this.selectEvent(model, event);
    this.#awaited = event;
  }

  /** The chosen event, or what is measured, fills the screen. */
  zoomToSelection(): void {
    const { active } = this;
    const row = active.eventQuery.data?.row;
    const shift = this.getOffset(active);
    const span =
      active.measured ?? (row && { start: row.start_ps, end: row.start_ps + row.duration_ps });
    if (!span) return;
    const air = 0.05 * getSpanLength(span);
    this.viewport.animateTo({ start: span.start - shift - air, end: span.end - shift + air });
  }

  /** An event that is to be shown when it is known where it is. */
  #awaited: number | null = null;

  #follow(): void {
    let isFirst = true;
    $effect(() => {
      const { bounds } = this.current;
      if (!bounds) return;
      untrack(() => {
        this.viewport.setBounds(bounds);
        if (isFirst) this.#open();
        else this.#openAnew();
      });
      isFirst = false;
    });
    $effect(() => {
      const { bounds } = this.current;
      if (bounds) this.viewport.setBounds(this.#cover(bounds));
    });
    $effect(() => {
      const row = this.active.eventQuery.data?.row;
      if (row?.event === this.#awaited && row) untrack(() => this.#arrive(row));
    });
    $effect(() => {
      const { span, bounds } = this.viewport;
      const timer = setTimeout(() => {
        this.params.span.set(looksEqual(span, bounds) ? null : spanToUs(span), 'replace');
      }, URL_DEBOUNCE_MS);
      return () => clearTimeout(timer);
    });
    $effect(() => () => this.viewport.stop());
  }

  /** Where the address says. */
  #open(): void {
    const { span, measured, event } = this.params;
    this.viewport.jumpTo(span.value ? spanFromUs(span.value) : this.viewport.bounds);
    if (measured.value) this.measureRange(this.current, spanFromUs(measured.value));
    if (event.value === null) return;
    this.selectEvent(this.current, event.value);
    if (!span.value) this.#awaited = event.value;
  }

  /** Another capture: nothing that was looked at is there any more. */
  #openAnew(): void {
    this.clearSelection();
    for (const param of [this.params.pinned, this.params.hidden, this.params.turned]) param.set([]);
    this.viewport.jumpTo(this.viewport.bounds);
  }

  /** A stretch that holds the other capture as well, if there is one. */
  #cover(whole: TimeSpan): TimeSpan {
    const other = this.profile.baselineRequest ? this.baseline.bounds : null;
    if (!other) return whole;
    const { start, end } = shiftSpan(other, -this.getOffset(this.baseline));
    return { start: Math.min(start, whole.start), end: Math.max(end, whole.end) };
  }

  #arrive(row: EventRow): void {
    this.#awaited = null;
    this.revealEvent(this.active, row);
  }
}

function centerOn(event: TimeSpan, span: TimeSpan): TimeSpan {
  const middle = (event.start + event.end) / 2;
  const half = getSpanLength(span) / 2;
  return { start: middle - half, end: middle + half };
}

export const [getTrace, setTrace] = createContext<TraceState>();

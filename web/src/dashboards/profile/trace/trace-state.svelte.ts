import { createContext, untrack } from 'svelte';

import type { ProfileParams } from '../captures';
import type { ProfileState } from '../profile-state.svelte';
import type { EventRow } from '../../../api/schemas';
import {
  EMPTY_SELECTION,
  type EventSelection,
  isEmptySelection,
  toggleEvent,
  addMargin,
  clampSpan,
  getSpanLength,
  interpolateSpan,
  looksEqual,
  padSpan,
  shiftSpan,
  type TimeSpan,
  zoomSpan,
} from './timeline/timeline-layout';
import { makeBaselineParams, TraceModel } from './trace-model.svelte';

/** Share of the remaining distance that is covered in a frame. */
const EASING_PER_FRAME = 0.3;

/** The visible time span. Changes are animated unless the user prefers reduced motion. */
export class TraceViewport {
  span = $state.raw<TimeSpan>({ start: 0, end: 1 });
  #bounds = $state.raw<TimeSpan>({ start: 0, end: 1 });
  #target: TimeSpan = { start: 0, end: 1 };
  #frame = 0;

  get bounds(): TimeSpan {
    return this.#bounds;
  }

  /** The visible span, or the one that is being animated to. */
  get target(): TimeSpan {
    return this.#target;
  }

  get isAnimating(): boolean {
    return this.#frame !== 0;
  }

  /** Set the start and end of the trace; a margin is added. A whole trace stays whole. */
  setBounds(trace: TimeSpan): void {
    untrack(() => {
      const isWhole = looksEqual(this.#target, this.#bounds);
      this.#bounds = addMargin(trace);
      if (isWhole) this.jumpTo(this.#bounds);
    });
  }

  jumpTo(span: TimeSpan): void {
    this.#stop();
    this.span = this.#target = clampSpan(span, this.#bounds);
  }

  animateTo(span: TimeSpan): void {
    this.#target = clampSpan(span, this.#bounds);
    if (matchMedia('(prefers-reduced-motion: reduce)').matches) this.jumpTo(span);
    else if (this.#frame === 0) this.#step();
  }

  /** Zoom around a position, given as a fraction of the width. Continues a running animation. */
  zoomBy(factor: number, around = 0.5): void {
    const { start } = this.#target;
    this.animateTo(zoomSpan(this.#target, factor, start + around * getSpanLength(this.#target)));
  }

  /** Move by a fraction of the width. */
  panBy(share: number): void {
    this.animateTo(shiftSpan(this.#target, share * getSpanLength(this.#target)));
  }

  resetZoom(): void {
    this.animateTo(this.#bounds);
  }

  stop(): void {
    this.#stop();
  }

  #step = (): void => {
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      const next = interpolateSpan(this.span, this.#target, EASING_PER_FRAME);
      const isDone = looksEqual(next, this.#target);
      this.span = isDone ? this.#target : next;
      if (!isDone) this.#step();
    });
  };

  #stop(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
  }
}

/** Number of matches in a response of the server. */
const SEARCH_PAGE_SIZE = 2000;

/** Moves from one match of the search to the next. */
export class SearchNavigator {
  constructor(
    readonly trace: TraceState,
    readonly model: TraceModel,
  ) {}

  /** The index of the selected event among all matches; null if it is none of them. */
  readonly index = $derived.by(() => {
    const { selectedEvent, searchQuery } = this.model;
    if (selectedEvent === null || !searchQuery.data) return null;
    const index = searchQuery.data.event.indexOf(selectedEvent);
    return index < 0 ? null : searchQuery.data.offset + index;
  });

  /** Select the next or previous match; without a selection, the nearest to the viewport. */
  moveBy(by: 1 | -1): void {
    const { data } = this.model.searchQuery;
    if (!data || data.count === 0) return;
    const next = this.index === null ? this.#findNear(by) : this.index + by;
    const index = (next + data.count) % data.count;
    const event = data.event[index - data.offset];
    if (event === undefined)
      this.model.searchOffset = Math.floor(index / SEARCH_PAGE_SIZE) * SEARCH_PAGE_SIZE;
    else this.trace.goToEvent(this.model, event);
  }

  /** Return the first match that starts in the visible span or later, or the one before. */
  #findNear(by: 1 | -1): number {
    const { data } = this.model.searchQuery;
    const visibleStart = this.trace.viewport.span.start + this.trace.getOffset(this.model);
    const index = data?.start.findIndex((start) => start >= visibleStart) ?? 0;
    const first = Math.max(0, index);
    return (data?.offset ?? 0) + (by > 0 ? first : first - 1);
  }
}

/** Moves through the selected events, or the rows of a query. */
export class MarkNavigator {
  constructor(
    readonly trace: TraceState,
    readonly model: TraceModel,
  ) {}

  /** The index of the place that is shown; null if it is none of them. */
  readonly index = $derived.by(() => {
    const { selectedEvent, measured, places } = this.model;
    const index = places.findIndex(({ event, start, end }) =>
      event === null
        ? measured !== null && looksEqual(measured, { start, end })
        : event === selectedEvent,
    );
    return index < 0 ? null : index;
  });

  moveBy(by: 1 | -1): void {
    const { places } = this.model;
    const next = this.index === null ? (by > 0 ? 0 : -1) : this.index + by;
    const place = places[(next + places.length) % places.length];
    if (!place) return;
    this.trace.measureRange(this.model, null);
    if (place.event !== null) this.trace.goToEvent(this.model, place.event);
    else this.trace.goToSpan(this.model, place);
  }

  clear(): void {
    this.model.params.marksRows.set(false);
    this.model.params.selection.set(EMPTY_SELECTION, 'push');
  }
}

const PS_PER_US = 1e6;
const PS_PER_NS = 1e3;
/** The visible span is written to the URL when it has not changed for this time. */
const URL_DEBOUNCE_MS = 350;
/** On narrower screens the details cover the trace, so that they are closed at first. */
const MIN_PANEL_WIDTH_PX = 760;
/** Narrower events are zoomed to when they are revealed, as a fraction of the viewport. */
const MIN_EVENT_SHARE = 1 / 300;

const spanFromUs = ([from, to]: readonly [number, number]): TimeSpan => ({
  start: from * PS_PER_US,
  end: to * PS_PER_US,
});

/** Round to nanoseconds, to keep URLs short. */
const spanToUs = ({ start, end }: TimeSpan): [number, number] => [
  Math.round(start / PS_PER_NS) / 1000,
  Math.round(end / PS_PER_NS) / 1000,
];

/** The trace viewer: one capture, or the current and the baseline on the same axis. */
export class TraceState {
  readonly params: ProfileParams;
  readonly viewport = new TraceViewport();
  readonly current: TraceModel;
  readonly baseline: TraceModel;
  readonly searchNavigator: SearchNavigator;
  readonly markNavigator: MarkNavigator;
  /** The trace whose details are shown. */
  active = $state.raw<TraceModel>() as TraceModel;
  isPanelOpen = $state(innerWidth > MIN_PANEL_WIDTH_PX);
  /** The time under the pointer, in the current capture. */
  cursorPs = $state<number | null>(null);

  constructor(readonly profile: ProfileState) {
    this.params = profile.params;
    this.current = new TraceModel(profile, this.params, () => profile.request);
    this.baseline = new TraceModel(
      profile,
      makeBaselineParams(this.params),
      () => profile.baselineRequest,
    );
    this.active = this.current;
    this.searchNavigator = new SearchNavigator(this, this.current);
    this.markNavigator = new MarkNavigator(this, this.current);
    this.#follow();
  }

  get models(): readonly TraceModel[] {
    return this.profile.baselineRequest ? [this.current, this.baseline] : [this.current];
  }

  /** Return the time that aligns the first steps of a capture and the current one. */
  getOffset(model: TraceModel): number {
    const [start, currentStart] = [model, this.current].map(
      ({ timelineQuery }) =>
        timelineQuery.data?.steps.start_ps[0] ?? timelineQuery.data?.start_ps ?? 0,
    );
    return model === this.current ? 0 : (start ?? 0) - (currentStart ?? 0);
  }

  /** Return the visible span in the time of a capture. */
  getVisibleSpan(model: TraceModel): TimeSpan {
    return shiftSpan(this.viewport.span, this.getOffset(model));
  }

  /** Return the bounds of the viewport in the time of a capture. */
  getBounds(model: TraceModel): TimeSpan {
    return shiftSpan(this.viewport.bounds, this.getOffset(model));
  }

  selectEvent(model: TraceModel, event: number | null): void {
    this.active = model;
    model.selectedEvent = event;
    if (event !== null) this.isPanelOpen = true;
    if (model === this.current) this.params.event.set(event, 'push');
  }

  /** Select several events at once; their sums replace the details of one event. */
  selectEvents(model: TraceModel, selection: EventSelection): void {
    const { params } = model;
    if (isEmptySelection(selection) && isEmptySelection(params.selection.value)) return;
    params.selection.set(selection, 'push');
    if (isEmptySelection(selection)) return;
    params.marksRows.set(false);
    this.measureRange(model, null);
    this.selectEvent(model, null);
    this.isPanelOpen = true;
  }

  /** Add an event to the selection, or remove it. The event that is shown is kept. */
  toggleEvent(model: TraceModel, event: number): void {
    const { selectedEvent, params } = model;
    const isFirst = isEmptySelection(params.selection.value) && selectedEvent !== null;
    const before = isFirst ? { events: [selectedEvent], boxes: [] } : params.selection.value;
    this.selectEvents(model, toggleEvent(before, event));
  }

  /** Measure a time span in some tracks; null clears it. A drag is in the URL when it is done. */
  measureRange(
    model: TraceModel,
    span: TimeSpan | null,
    tracks: readonly number[] = model.shownTracks,
    isDone = true,
  ): void {
    this.active = model;
    if (span) this.isPanelOpen = true;
    model.measured = span && { ...span, tracks };
    if (model === this.current && isDone) this.params.measured.set(span && spanToUs(span), 'push');
  }

  measureSelectedEvent(): void {
    const row = this.active.eventQuery.data?.row;
    if (this.active.selectedEvent === null || !row) return;
    this.measureRange(this.active, { start: row.start_ps, end: row.start_ps + row.duration_ps });
  }

  /** The position of the pointer as a fraction of the width; null outside. */
  get cursorFraction(): number | null {
    const { span } = this.viewport;
    return this.cursorPs === null ? null : (this.cursorPs - span.start) / getSpanLength(span);
  }

  search(text: string): void {
    for (const model of this.models) model.searchOffset = 0;
    this.params.find.set(text);
  }

  searchExactName(name: string): void {
    for (const option of [this.params.findRegex, this.params.findArguments]) option.set(false);
    this.search(`"${name}"`);
  }

  clearSelection(): void {
    for (const model of this.models) {
      model.params.marksRows.set(false);
      this.selectEvents(model, EMPTY_SELECTION);
      this.measureRange(model, null);
      this.selectEvent(model, null);
    }
  }

  /** Scroll and zoom so that an event is visible. */
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

  /** Scroll so that a time of a capture is in the middle, at the same zoom. */
  goToTime(model: TraceModel, timePs: number): void {
    const time = timePs - this.getOffset(model);
    this.viewport.animateTo(centerOn({ start: time, end: time }, this.viewport.span));
  }

  /** Measure a time span and zoom so that it is visible. */
  goToSpan(model: TraceModel, span: TimeSpan): void {
    this.selectEvent(model, null);
    this.measureRange(model, { start: span.start, end: span.end });
    this.viewport.animateTo(padSpan(shiftSpan(span, -this.getOffset(model))));
  }

  /** Select an event and reveal it when its position is known. */
  goToEvent(model: TraceModel, event: number): void {
    this.selectEvent(model, event);
    this.#pendingEvent = event;
  }

  /** Zoom to the measured span or the selected event. */
  zoomToSelection(): void {
    const { active } = this;
    const row = active.eventQuery.data?.row;
    const shift = this.getOffset(active);
    const span =
      active.measured ?? (row && { start: row.start_ps, end: row.start_ps + row.duration_ps });
    if (!span) return;
    const margin = 0.05 * getSpanLength(span);
    this.viewport.animateTo({ start: span.start - shift - margin, end: span.end - shift + margin });
  }

  /** An event to reveal when its position is known. */
  #pendingEvent: number | null = null;
  /** Whether the viewport moves to a selected event. */
  #isRevealing = false;

  #follow(): void {
    $effect(() => {
      const { bounds } = this.current;
      if (bounds) untrack(() => this.#open(bounds));
    });
    $effect(() => {
      const { bounds } = this.current;
      if (bounds) this.viewport.setBounds(this.#includeBaseline(bounds));
    });
    $effect(() => {
      const row = this.active.eventQuery.data?.row;
      if (row?.event === this.#pendingEvent && row) untrack(() => this.#revealPending(row));
    });
    this.#readUrl();
    this.#writeSpan();
    $effect(() => () => this.viewport.stop());
  }

  /** Follow the URL, as it changes with the browser's Back and Forward. */
  #readUrl(): void {
    const { span, measured, event } = this.params;
    const follow = (read: () => unknown, apply: () => void): void => {
      $effect(() => {
        read();
        untrack(() => {
          if (this.current.bounds) apply();
        });
      });
    };
    follow(
      () => span.value,
      () => {
        const next = span.value ? spanFromUs(span.value) : this.viewport.bounds;
        if (!looksEqual(next, this.viewport.target)) this.viewport.animateTo(next);
      },
    );
    follow(
      () => measured.value,
      () => {
        const current = this.current.measured && spanToUs(this.current.measured);
        if (String(current) === String(measured.value)) return;
        this.measureRange(this.current, measured.value && spanFromUs(measured.value));
      },
    );
    follow(
      () => event.value,
      () => {
        if (event.value !== this.current.selectedEvent) this.selectEvent(this.current, event.value);
      },
    );
  }

  /** Write the visible span to the URL. */
  #writeSpan(): void {
    let writtenSpan: TimeSpan | null = null;
    $effect(() => {
      const { span, bounds } = this.viewport;
      // Until a trace is loaded, the viewport has no meaning.
      if (!this.current.bounds) return;
      const timer = setTimeout(() => {
        // A change of the bounds alone, or the way to a selected event, is no new history entry.
        const isNew = writtenSpan !== null && writtenSpan !== span && !this.#isRevealing;
        writtenSpan = span;
        this.#isRevealing = false;
        this.params.span.set(
          looksEqual(span, bounds) ? null : spanToUs(span),
          isNew ? 'push' : 'replace',
        );
      }, URL_DEBOUNCE_MS);
      return () => clearTimeout(timer);
    });
  }

  /** Show a trace that has been loaded, as in the URL. */
  #open(bounds: TimeSpan): void {
    const { span, measured, event } = this.params;
    this.baseline.selectedEvent = this.baseline.measured = null;
    this.viewport.setBounds(bounds);
    this.viewport.jumpTo(span.value ? spanFromUs(span.value) : this.viewport.bounds);
    this.measureRange(this.current, measured.value && spanFromUs(measured.value));
    this.selectEvent(this.current, event.value);
    if (!span.value) this.#pendingEvent = event.value;
  }

  /** Return a span that contains the baseline capture as well. */
  #includeBaseline(bounds: TimeSpan): TimeSpan {
    const baseline = this.profile.baselineRequest ? this.baseline.bounds : null;
    if (!baseline) return bounds;
    const { start, end } = shiftSpan(baseline, -this.getOffset(this.baseline));
    return { start: Math.min(start, bounds.start), end: Math.max(end, bounds.end) };
  }

  #revealPending(row: EventRow): void {
    this.#pendingEvent = null;
    this.#isRevealing = true;
    this.revealEvent(this.active, row);
  }
}

function centerOn(event: TimeSpan, span: TimeSpan): TimeSpan {
  const middle = (event.start + event.end) / 2;
  const half = getSpanLength(span) / 2;
  return { start: middle - half, end: middle + half };
}

export const [getTrace, setTrace] = createContext<TraceState>();

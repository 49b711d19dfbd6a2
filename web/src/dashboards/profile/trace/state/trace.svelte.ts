import { createContext, untrack } from 'svelte';

import type { Profile } from '../../profile.svelte';
import type { EventRow } from '../data/answers';
import { frame, lengthOf, looksLike, move, type Span } from '../view/span';
import { Camera } from './camera.svelte';
import { Hits } from './hits.svelte';
import { Model } from './model.svelte';
import { makeLocal, openTraceParams, type TraceParams } from './params.svelte';

const PS_PER_US = 1e6;
const PS_PER_NS = 1e3;
/** What is seen is written into the address when it has stood for so long. */
const REST_MS = 350;
/** Where there is less room, details cover what they are of: they come when they are asked for. */
const NARROW_PX = 760;
/** An event narrower than this part of the screen is zoomed to when it is gone to. */
const NARROW = 1 / 300;

const inPs = ([from, to]: readonly [number, number]): Span => ({
  start: from * PS_PER_US,
  end: to * PS_PER_US,
});

/** To the nanosecond: more would make addresses long that nobody sees more by. */
const inUs = ({ start, end }: Span): [number, number] => [
  Math.round(start / PS_PER_NS) / 1000,
  Math.round(end / PS_PER_NS) / 1000,
];

/** The trace viewer: what is seen of one capture, or of two below each other on one axis. */
export class Trace {
  readonly params: TraceParams;
  readonly camera = new Camera();
  readonly one: Model;
  readonly other: Model;
  readonly hits: Hits;
  /** Of which of them details are told. */
  active = $state.raw<Model>() as Model;
  panel = $state(innerWidth > NARROW_PX);
  /** Where the pointer is, in the time of the first capture. */
  rule = $state<number | null>(null);

  constructor(readonly profile: Profile) {
    this.params = openTraceParams(profile);
    this.one = new Model(profile, this.params, () => profile.ask);
    this.other = new Model(profile, makeLocal(this.params), () => profile.otherAsk);
    this.active = this.one;
    this.hits = new Hits(this, this.one);
    this.#follow();
  }

  get models(): readonly Model[] {
    return this.profile.otherAsk ? [this.one, this.other] : [this.one];
  }

  /** How much later the same moment is in a capture than in the first: its first step counts. */
  shiftOf(model: Model): number {
    const [mine, first] = [model, this.one].map(
      ({ timeline }) => timeline.answer?.steps.start[0] ?? timeline.answer?.start_ps ?? 0,
    );
    return model === this.one ? 0 : (mine ?? 0) - (first ?? 0);
  }

  /** What is seen, in the time of a capture. */
  spanOf(model: Model): Span {
    return move(this.camera.span, this.shiftOf(model));
  }

  /** All of the first capture, in the time of another. */
  wholeOf(model: Model): Span {
    return move(this.camera.whole, this.shiftOf(model));
  }

  /** Goes to an event and tells all about it. */
  choose(model: Model, event: number | null): void {
    this.active = model;
    model.chosen = event;
    if (event !== null) this.panel = true;
    if (model === this.one) this.params.event.set(event);
  }

  /** Measures a stretch of time, of all tracks or of some. */
  measure(model: Model, span: Span | null, tracks: readonly number[] = model.shownTracks): void {
    this.active = model;
    if (span) this.panel = true;
    model.measured = span && { ...span, tracks };
    if (model === this.one) this.params.measured.set(span && inUs(span));
  }

  measureChosen(): void {
    const row = this.active.event.answer?.row;
    if (this.active.chosen === null || !row) return;
    this.measure(this.active, { start: row.start_ps, end: row.start_ps + row.duration_ps });
  }

  /** Where the pointer is, as a part of the width; null where it is elsewhere. */
  get pointer(): number | null {
    const { span } = this.camera;
    return this.rule === null ? null : (this.rule - span.start) / lengthOf(span);
  }

  /** Looks for events in the whole trace. */
  find(text: string): void {
    for (const model of this.models) model.page = 0;
    this.params.find.set(text);
  }

  /** Looks for all events of one name, and of no other. */
  findNamed(name: string): void {
    for (const how of [this.params.findRegex, this.params.findArguments]) how.set(false);
    this.find(`"${name}"`);
  }

  letGo(): void {
    for (const model of this.models) {
      this.measure(model, null);
      this.choose(model, null);
    }
  }

  /** Lets an event be seen: near enough, and not covered. */
  show(model: Model, row: EventRow): void {
    model.reveal(row);
    const shift = this.shiftOf(model);
    const event = { start: row.start_ps - shift, end: row.start_ps + row.duration_ps - shift };
    const { span } = this.camera;
    const share = lengthOf(event) / lengthOf(span);
    if (share < NARROW || share > 1) this.camera.go(frame(event));
    else if (event.start < span.start || event.end > span.end) this.camera.go(centre(event, span));
  }

  /** Chooses an event and shows it as soon as it is known where it is. */
  goTo(model: Model, event: number): void {
    this.choose(model, event);
    this.#awaited = event;
  }

  /** The chosen event, or what is measured, fills the screen. */
  enlarge(): void {
    const { active } = this;
    const row = active.event.answer?.row;
    const shift = this.shiftOf(active);
    const span =
      active.measured ?? (row && { start: row.start_ps, end: row.start_ps + row.duration_ps });
    if (!span) return;
    const air = 0.05 * lengthOf(span);
    this.camera.go({ start: span.start - shift - air, end: span.end - shift + air });
  }

  /** An event that is to be shown when it is known where it is. */
  #awaited: number | null = null;

  #follow(): void {
    let isFirst = true;
    $effect(() => {
      const { whole } = this.one;
      if (!whole) return;
      untrack(() => {
        this.camera.setWhole(whole);
        if (isFirst) this.#open();
        else this.#openAnew();
      });
      isFirst = false;
    });
    $effect(() => {
      const { whole } = this.one;
      if (whole) this.camera.setWhole(this.#cover(whole));
    });
    $effect(() => {
      const row = this.active.event.answer?.row;
      if (row?.event === this.#awaited && row) untrack(() => this.#arrive(row));
    });
    $effect(() => {
      const { span, whole } = this.camera;
      const timer = setTimeout(() => {
        this.params.span.set(looksLike(span, whole) ? null : inUs(span), 'replace');
      }, REST_MS);
      return () => clearTimeout(timer);
    });
    $effect(() => () => this.camera.stop());
  }

  /** Where the address says. */
  #open(): void {
    const { span, measured, event } = this.params;
    this.camera.jump(span.value ? inPs(span.value) : this.camera.whole);
    if (measured.value) this.measure(this.one, inPs(measured.value));
    if (event.value === null) return;
    this.choose(this.one, event.value);
    if (!span.value) this.#awaited = event.value;
  }

  /** Another capture: nothing that was looked at is there any more. */
  #openAnew(): void {
    this.letGo();
    for (const param of [this.params.pinned, this.params.hidden, this.params.turned]) param.set([]);
    this.camera.jump(this.camera.whole);
  }

  /** A stretch that holds the other capture as well, if there is one. */
  #cover(whole: Span): Span {
    const other = this.profile.otherAsk ? this.other.whole : null;
    if (!other) return whole;
    const { start, end } = move(other, -this.shiftOf(this.other));
    return { start: Math.min(start, whole.start), end: Math.max(end, whole.end) };
  }

  #arrive(row: EventRow): void {
    this.#awaited = null;
    this.show(this.active, row);
  }
}

function centre(event: Span, span: Span): Span {
  const middle = (event.start + event.end) / 2;
  const half = lengthOf(span) / 2;
  return { start: middle - half, end: middle + half };
}

export const [getTrace, setTrace] = createContext<Trace>();

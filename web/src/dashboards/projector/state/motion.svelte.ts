import type { Places } from '../cloud/shown';

/** How long points take to where they belong. */
const TAKES_MS = 450;
/** While a layout is in the making, the next places come about as soon. */
const PREVIEW_MS = 140;

/** Lets points go from where they are to where they belong, so that eyes can follow. */
export class Motion {
  places = $state.raw<Places | null>(null);
  /** How far they are, from 0 to 1. */
  way = $state(1);
  isMoving = $state(false);
  #frame = 0;

  /** Points that are compared are as far as `way` says; others begin to move. */
  show(places: Places | null, way: number, isPreview: boolean): void {
    const before = this.places;
    this.stop();
    if (!places || places.before) {
      [this.places, this.way] = [places && (way === 0 ? atStart(places) : places), way];
    } else if (before?.count !== places.count || !this.#mayMove) {
      [this.places, this.way] = [places, 1];
    } else if (before.now !== places.now || before.before) {
      this.places = { ...places, before: fill(placesAt(before, this.way), places.now) };
      this.#go(isPreview ? PREVIEW_MS : TAKES_MS);
    }
  }

  stop(): void {
    cancelAnimationFrame(this.#frame);
    this.isMoving = false;
  }

  get #mayMove(): boolean {
    return !matchMedia('(prefers-reduced-motion: reduce)').matches;
  }

  #go(takes_ms: number): void {
    const began = performance.now();
    this.way = 0;
    this.isMoving = true;
    const step = (now: number): void => {
      const share = Math.min(1, Math.max(0, now - began) / takes_ms);
      this.way = share * (2 - share);
      if (share < 1) this.#frame = requestAnimationFrame(step);
      else this.#arrive();
    };
    this.#frame = requestAnimationFrame(step);
  }

  #arrive(): void {
    this.isMoving = false;
    if (this.places) this.places = { ...this.places, before: null };
  }
}

/** Where points are on their way; who is nowhere at one end is nowhere between. */
export function placesAt({ now, before }: Places, way: number): Float32Array {
  if (!before || way === 1) return now;
  if (way === 0) return before;
  return now.map((place, at) => (before[at] ?? 0) * (1 - way) + place * way);
}

/** All of them, with those that are on their way to nowhere. */
function atStart(places: Places): Places {
  return { ...places, now: places.before ?? places.now, before: null };
}

/** Who comes from nowhere is there at once. */
function fill(before: Float32Array, now: Float32Array): Float32Array {
  return before.map((place, at) => (Number.isNaN(place) ? (now[at] ?? NaN) : place));
}

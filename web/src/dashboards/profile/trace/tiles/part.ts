import type { TilesAnswer } from '../data/answers';

/** What is seen of a track in a tile; by lane, then by start. */
export interface Part {
  /** Where each lane begins, and after the last one where it ends. */
  readonly lanes: Int32Array;
  readonly start: Float64Array;
  readonly duration: Float64Array;
  readonly event: Int32Array;
  /** One: the event itself; more: so many too short to be told apart. */
  readonly count: Int32Array;
  readonly name: Int32Array;
  readonly hue: Uint8Array;
  readonly busy: Uint8Array;
}

/** An entry, as a tip tells of it. */
export interface Entry {
  readonly event: number;
  readonly name: number;
  readonly start: number;
  readonly duration: number;
  readonly count: number;
  readonly busy: number;
  readonly hue: number;
}

/** The parts of an answer, in its order: of the first tile each track, then of the next. */
export function* cutParts(answer: TilesAnswer): Iterable<Part> {
  let first = 0;
  for (const last of answer.ends) {
    const of = <Column extends { subarray(from: number, to: number): Column }>(column: Column) =>
      column.subarray(first, last);
    yield {
      lanes: findLanes(of(answer.lane)),
      start: of(answer.start),
      duration: of(answer.duration),
      event: of(answer.event),
      count: of(answer.count),
      name: of(answer.name),
      hue: of(answer.hue),
      busy: of(answer.busy),
    };
    first = last;
  }
}

function findLanes(lane: Uint8Array): Int32Array {
  const count = (lane.at(-1) ?? -1) + 1;
  const lanes = new Int32Array(count + 1).fill(lane.length);
  for (let at = lane.length - 1; at >= 0; at--) lanes[lane[at] ?? 0] = at;
  // A lane without anything begins where the next one does.
  for (let at = count - 1; at >= 0; at--) lanes[at] = Math.min(lanes[at] ?? 0, lanes[at + 1] ?? 0);
  return lanes;
}

/** The first entry of a lane that ends after a moment: as none overlap, ends are in order too. */
export function firstAfter(part: Part, from: number, to: number, moment: number): number {
  let [low, high] = [from, to];
  while (low < high) {
    const middle = (low + high) >> 1;
    const end = (part.start[middle] ?? 0) + (part.duration[middle] ?? 0);
    if (end <= moment) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function entryOf(part: Part, at: number): Entry {
  return {
    event: part.event[at] ?? 0,
    name: part.name[at] ?? 0,
    start: part.start[at] ?? 0,
    duration: part.duration[at] ?? 0,
    count: part.count[at] ?? 0,
    busy: (part.busy[at] ?? 0) / 255,
    hue: part.hue[at] ?? 0,
  };
}

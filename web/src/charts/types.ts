/** What a chart of lines draws. A chart has never heard of runs or of HTTP. */

export type Numbers = Float32Array | Float64Array;

export interface Mark {
  readonly x: number;
  /** Where there is no finite value the mark stands at the edge of the chart. */
  readonly y: number;
  readonly kind: 'nan' | 'inf' | '-inf' | 'min' | 'max' | 'last';
  readonly text: string;
}

/** A line; NaN in `y` leaves a gap. */
export interface Line {
  readonly id: string;
  readonly label: string;
  readonly colour: string;
  readonly dash: readonly number[];
  /** 0 is the left axis, 1 the right. */
  readonly axis: 0 | 1;
  /** Rises, unless `scatter` is set. */
  readonly x: Numbers;
  readonly y: Numbers;
  /** Lowest and highest value around each x, where several points share a column of pixels. */
  readonly low?: Numbers;
  readonly high?: Numbers;
  /** The values before smoothing, drawn pale behind the line, at the same x. */
  readonly raw?: Numbers;
  /** Points that later ones took the place of; drawn faded, each piece by itself. */
  readonly faded?: readonly { readonly x: Numbers; readonly y: Numbers }[];
  readonly marks?: readonly Mark[];
  /** x runs in any order: the axis is another metric. */
  readonly scatter?: boolean;
  /** True while another line is the one that is looked at. */
  readonly dimmed?: boolean;
}

/** An area between two curves, with a line in it. */
export interface Band {
  readonly id: string;
  readonly label: string;
  readonly colour: string;
  readonly axis: 0 | 1;
  readonly x: Numbers;
  readonly low: Numbers;
  readonly center: Numbers;
  readonly high: Numbers;
}

/** A vertical line with a word on it. */
export interface Flag {
  readonly id: string;
  readonly x: number;
  readonly text: string;
}

/** A faint line behind all others that they are read against, with a word on it. */
export interface Guide {
  readonly id: string;
  readonly x: Numbers;
  readonly y: Numbers;
  readonly text: string;
  /** The point that the word stands at; the last unless it is told, or where that is not seen. */
  readonly wordAt?: number;
  readonly dash?: readonly number[];
}

/** A dot on a line that somebody looks at. */
export interface Spot {
  readonly x: number;
  readonly y: number;
  readonly colour: string;
}

export type ScaleKind = 'linear' | 'log';

/** What numbers on the horizontal axis mean; between two steps there is nothing. */
export type XFormat = 'number' | 'step' | 'duration' | 'time';

/** From where to where, in the units of an axis. */
export type Span = readonly [number, number];

/** Ends of an axis; null leaves an end to the data. */
export interface Limits {
  readonly low: number | null;
  readonly high: number | null;
}

/** What is seen of a chart. */
export interface Extent {
  readonly x: Span;
  readonly y: Span;
  /** Of the right axis, where there is one. */
  readonly y2?: Span;
}

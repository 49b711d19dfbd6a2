/** What a chart of lines draws. A chart has never heard of runs or of HTTP. */

export type NumberArray = Float32Array | Float64Array;

export interface PointMarker {
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
  readonly color: string;
  readonly dash: readonly number[];
  /** 0 is the left axis, 1 the right. */
  readonly axis: 0 | 1;
  /** Rises, unless `scatter` is set. */
  readonly x: NumberArray;
  readonly y: NumberArray;
  /** Lowest and highest value around each x, where several points share a column of pixels. */
  readonly low?: NumberArray;
  readonly high?: NumberArray;
  /** The values before smoothing, drawn pale behind the line, at the same x. */
  readonly raw?: NumberArray;
  /** Points that later ones took the place of; drawn faded, each piece by itself. */
  readonly overwritten?: readonly { readonly x: NumberArray; readonly y: NumberArray }[];
  readonly markers?: readonly PointMarker[];
  /** x runs in any order: the axis is another metric. */
  readonly scatter?: boolean;
  /** True while another line is the one that is looked at. */
  readonly dimmed?: boolean;
}

/** An area between two curves, with a line in it. */
export interface Band {
  readonly id: string;
  readonly label: string;
  readonly color: string;
  readonly axis: 0 | 1;
  readonly x: NumberArray;
  readonly low: NumberArray;
  readonly center: NumberArray;
  readonly high: NumberArray;
}

/** A vertical line with a word on it. */
export interface Annotation {
  readonly id: string;
  readonly x: number;
  readonly text: string;
}

/** A faint line behind all others that they are read against, with a word on it. */
export interface ReferenceLine {
  readonly id: string;
  readonly x: NumberArray;
  readonly y: NumberArray;
  readonly label: string;
  /** The point that the word stands at; the last unless it is told, or where that is not seen. */
  readonly labelIndex?: number;
  readonly dash?: readonly number[];
}

/** A dot on a line that somebody looks at. */
export interface HoverPoint {
  readonly x: number;
  readonly y: number;
  readonly color: string;
}

export type ScaleType = 'linear' | 'log';

/** What numbers on the horizontal axis mean; between two steps there is nothing. */
export type AxisFormat = 'number' | 'step' | 'duration' | 'time';

/** From where to where, in the units of an axis. */
export type NumberRange = readonly [number, number];

/** Ends of an axis; null leaves an end to the data. */
export interface AxisLimits {
  readonly low: number | null;
  readonly high: number | null;
}

/** What is seen of a chart. */
export interface ChartViewport {
  readonly x: NumberRange;
  readonly y: NumberRange;
  /** Of the right axis, where there is one. */
  readonly y2?: NumberRange;
}

/** What LineChart.svelte is given, and what it says. */
export interface LineChartProps {
  /** What the chart shows, for who cannot see it. */
  label: string;
  lines: readonly Line[];
  bands?: readonly Band[];
  annotations?: readonly Annotation[];
  referenceLines?: readonly ReferenceLine[];
  xFormat?: AxisFormat;
  xScale?: ScaleType;
  yScale?: ScaleType;
  y2Scale?: ScaleType;
  /** Ends that hold while nobody has zoomed. */
  xLimits?: AxisLimits;
  yLimits?: AxisLimits;
  y2Limits?: AxisLimits;
  ignoreOutliers?: boolean;
  /** The x that is looked at, in this chart or in one that is linked with it. */
  cursor?: number | null;
  pinned?: number | null;
  range?: NumberRange | null;
  /** Dots for lines of which not x is what is looked at. */
  hoverPoints?: readonly HoverPoint[];
  /** Ids of lines that stand out. */
  highlighted?: readonly string[];
  /** A drag selects a range instead of zooming. */
  selectsRange?: boolean;
  /** What the axes count, for a picture that is taken away. */
  xLabel?: string;
  yLabel?: string;
  y2Label?: string;
  /** What is seen; null fits the data. May be bound. */
  zoom?: ChartViewport | null;
  /** Where the pointer is, and the id of the line that is nearest to it; null when it has left. */
  onhover?: (x: number | null, y: number | null, nearest: string | null) => void;
  onselect?: (x: number) => void;
  /** null: somebody wants to see all. */
  onzoom?: (extent: ChartViewport | null) => void;
  onrange?: (range: NumberRange | null) => void;
}

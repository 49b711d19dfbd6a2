/** Data and props of line charts. Charts know nothing about runs or HTTP. */

export type NumberArray = Float32Array | Float64Array;

export interface PointMarker {
  readonly x: number;
  /** Markers of non-finite values are at the edge of the chart. */
  readonly y: number;
  readonly kind: 'nan' | 'inf' | '-inf' | 'min' | 'max' | 'last';
  readonly text: string;
}

/** A line; NaN in `y` is a gap. */
export interface Line {
  readonly id: string;
  readonly label: string;
  readonly color: string;
  readonly dash: readonly number[];
  /** 0 is the left axis, 1 the right one. */
  readonly axis: 0 | 1;
  /** Sorted, unless `scatter` is set. */
  readonly x: NumberArray;
  readonly y: NumberArray;
  /** Minimum and maximum around each x, if several points share a pixel column. */
  readonly low?: NumberArray;
  readonly high?: NumberArray;
  /** Values before smoothing, drawn faded behind the line, at the same x. */
  readonly raw?: NumberArray;
  /** Overwritten points, drawn faded and separately. */
  readonly overwritten?: readonly { readonly x: NumberArray; readonly y: NumberArray }[];
  readonly markers?: readonly PointMarker[];
  /** x is not sorted: it is another metric. */
  readonly scatter?: boolean;
  /** Another line is highlighted. */
  readonly dimmed?: boolean;
}

/** An area between two curves with a center line. */
export interface Band {
  readonly id: string;
  readonly label: string;
  readonly color: string;
  readonly axis: 0 | 1;
  readonly x: NumberArray;
  readonly low: NumberArray;
  readonly center: NumberArray;
  readonly high: NumberArray;
  /** Edges of a narrower band inside this one. */
  readonly inner?: Pick<Band, 'low' | 'high'>;
  /** Dash pattern of the center line. */
  readonly dash?: readonly number[];
  /** How many series the values at each x are from; changes are marked. */
  readonly count?: Int32Array;
}

/** A vertical line with a label. */
export interface Annotation {
  readonly id: string;
  readonly x: number;
  readonly text: string;
}

/** A faint labeled line behind all others. */
export interface ReferenceLine {
  readonly id: string;
  readonly x: NumberArray;
  readonly y: NumberArray;
  readonly label: string;
  /** Index of the labeled point; the last visible one by default. */
  readonly labelIndex?: number;
  readonly dash?: readonly number[];
}

/** A hovered point. */
export interface HoverPoint {
  readonly x: number;
  readonly y: number;
  readonly color: string;
}

export type ScaleType = 'linear' | 'log';

/** Meaning of x values; steps are integers. */
export type AxisFormat = 'number' | 'step' | 'duration' | 'time';

/** [low, high] in the units of an axis. */
export type NumberRange = readonly [number, number];

/** Ends of an axis; null is derived from the data. */
export interface AxisLimits {
  readonly low: number | null;
  readonly high: number | null;
}

/** The visible ranges of a chart. */
export interface ChartViewport {
  readonly x: NumberRange;
  readonly y: NumberRange;
  /** Range of the right axis, if it exists. */
  readonly y2?: NumberRange;
}

export interface LineChartProps {
  /** Start of the accessible name. */
  label: string;
  lines: readonly Line[];
  bands?: readonly Band[];
  annotations?: readonly Annotation[];
  referenceLines?: readonly ReferenceLine[];
  xFormat?: AxisFormat;
  xScale?: ScaleType;
  yScale?: ScaleType;
  y2Scale?: ScaleType;
  /** Limits that apply without zoom. */
  xLimits?: AxisLimits;
  yLimits?: AxisLimits;
  y2Limits?: AxisLimits;
  ignoreOutliers?: boolean;
  /** The hovered x, in this chart or in a linked one. */
  cursor?: number | null;
  pinned?: number | null;
  range?: NumberRange | null;
  /** Hovered points of scatter lines. */
  hoverPoints?: readonly HoverPoint[];
  /** Ids of highlighted lines. */
  highlighted?: readonly string[];
  /** Dragging selects a range instead of zooming. */
  selectsRange?: boolean;
  /** Labels at the right end of lines and bands, by their id. */
  endLabels?: ReadonlyMap<string, string>;
  /** Axis labels of exported images. */
  xLabel?: string;
  yLabel?: string;
  y2Label?: string;
  /** The viewport; null fits the data. Bindable. */
  zoom?: ChartViewport | null;
  /** Gets the position of the pointer and the id of the nearest line; null when it leaves. */
  onhover?: (x: number | null, y: number | null, nearest: string | null) => void;
  onselect?: (x: number) => void;
  /** null resets the zoom. */
  onzoom?: (extent: ChartViewport | null) => void;
  onrange?: (range: NumberRange | null) => void;
}

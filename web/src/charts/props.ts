import type {
  Band,
  Extent,
  Flag,
  Guide,
  Limits,
  Line,
  ScaleKind,
  Span,
  Spot,
  XFormat,
} from './types';

/** What LineChart.svelte is given, and what it says. */
export interface LineChartProps {
  /** What the chart shows, for who cannot see it. */
  label: string;
  lines: readonly Line[];
  bands?: readonly Band[];
  flags?: readonly Flag[];
  guides?: readonly Guide[];
  xFormat?: XFormat;
  xScale?: ScaleKind;
  yScale?: ScaleKind;
  y2Scale?: ScaleKind;
  /** Ends that hold while nobody has zoomed. */
  xLimits?: Limits;
  yLimits?: Limits;
  y2Limits?: Limits;
  ignoreOutliers?: boolean;
  /** The x that is looked at, in this chart or in one that is linked with it. */
  cursor?: number | null;
  pinned?: number | null;
  range?: Span | null;
  /** Dots for lines of which not x is what is looked at. */
  spots?: readonly Spot[];
  /** Ids of lines that stand out. */
  highlighted?: readonly string[];
  /** A drag selects a range instead of zooming. */
  selecting?: boolean;
  /** What the axes count, for a picture that is taken away. */
  xLabel?: string;
  yLabel?: string;
  y2Label?: string;
  /** What is seen; null fits the data. May be bound. */
  zoom?: Extent | null;
  /** Where the pointer is, and the id of the line that is nearest to it; null when it has left. */
  onhover?: (x: number | null, y: number | null, nearest: string | null) => void;
  onpick?: (x: number) => void;
  /** null: somebody wants to see all. */
  onzoom?: (extent: Extent | null) => void;
  onrange?: (range: Span | null) => void;
}

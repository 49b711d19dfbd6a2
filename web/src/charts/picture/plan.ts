import { type Content, fitX, fitY } from '../axis/fit';
import type { Extent, Limits, ScaleKind, Span, XFormat } from '../types';
import type { Plan } from './layout';

/** How a chart is to be seen when nobody has zoomed. */
export interface Settings {
  readonly xFormat: XFormat;
  readonly xScale: ScaleKind;
  readonly yScale: ScaleKind;
  readonly y2Scale: ScaleKind;
  readonly xLimits: Limits;
  readonly yLimits: Limits;
  readonly y2Limits: Limits;
  readonly ignoreOutliers: boolean;
  /** How many ticks a vertical axis has room for. */
  readonly rows: number;
}

/** What the axes span: what somebody zoomed to, else limits and data. */
export function planAxes(content: Content, settings: Settings, zoom: Extent | null): Plan {
  const { xScale, xFormat, xLimits, yScale, y2Scale } = settings;
  const x = usable(zoom?.x, xScale) ?? fitX(content, xScale, xLimits);
  const y = usable(zoom?.y, yScale) ?? fitVertical(content, settings, 0, zoom?.x ?? null);
  const hasRight = [...content.lines, ...content.bands].some(({ axis }) => axis === 1);
  const y2 = usable(zoom?.y2, y2Scale) ?? fitVertical(content, settings, 1, zoom?.x ?? null);
  return {
    x: { kind: xScale, domain: x, format: xFormat },
    y: { kind: yScale, domain: y },
    y2: hasRight ? { kind: y2Scale, domain: y2 } : null,
  };
}

/** The height that what lies within a part of the horizontal axis needs. */
export function fitVertical(
  content: Content,
  settings: Settings,
  axis: 0 | 1,
  within: Span | null,
): Span {
  const kind = axis === 0 ? settings.yScale : settings.y2Scale;
  const limits = axis === 0 ? settings.yLimits : settings.y2Limits;
  const { ignoreOutliers, rows: ticks } = settings;
  return fitY(content, { axis, kind, limits, within, ignoreOutliers, ticks });
}

/** A zoom from before the scale became a logarithmic one may reach where that has no numbers. */
function usable(span: Span | undefined, kind: ScaleKind): Span | null {
  if (!span || !(span[0] < span[1])) return null;
  return kind === 'log' && span[0] <= 0 ? null : span;
}

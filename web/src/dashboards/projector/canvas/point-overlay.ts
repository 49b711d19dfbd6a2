import type { Point } from '../../../charts/renderer/renderer';

/** A name beside a point; those that come first have their place first. */
export interface PointLabel {
  readonly at: Point;
  readonly text: string;
  readonly isEmphasized: boolean;
}

/** All that is drawn over the points. */
export interface OverlayContent {
  readonly width: number;
  readonly height: number;
  readonly textColor: string;
  readonly background: string;
  readonly accent: string;
  readonly labels: readonly PointLabel[];
  /** From the middle of a point to its name. */
  readonly labelGap: number;
  readonly rings: readonly { readonly at: Point; readonly reach: number }[];
  /** From one point to several others. */
  readonly neighborLines: { readonly from: Point; readonly to: readonly Point[] } | null;
  /** Ways through points, one after another. */
  readonly sequenceLines: readonly (readonly [Point, Point])[];
  /** What a hand draws around points. */
  readonly outline: readonly Point[];
}

const LABEL_HEIGHT_PX = 14;
const MAX_LABEL_CHARACTERS = 32;
const PLAIN_FONT = '11px system-ui, sans-serif';
const STRONG_FONT = '600 12px system-ui, sans-serif';

export function drawOverlay(pen: CanvasRenderingContext2D, drawn: OverlayContent): void {
  pen.clearRect(0, 0, drawn.width, drawn.height);
  drawSequenceLines(pen, drawn);
  drawNeighborLines(pen, drawn);
  drawRings(pen, drawn);
  drawLabels(pen, drawn);
  drawOutline(pen, drawn);
}

function drawSequenceLines(
  pen: CanvasRenderingContext2D,
  { sequenceLines, textColor }: OverlayContent,
): void {
  if (sequenceLines.length === 0) return;
  pen.globalAlpha = 0.25;
  pen.strokeStyle = textColor;
  pen.lineWidth = 1;
  pen.beginPath();
  for (const [from, to] of sequenceLines) {
    pen.moveTo(from.x, from.y);
    pen.lineTo(to.x, to.y);
  }
  pen.stroke();
  pen.globalAlpha = 1;
}

function drawNeighborLines(
  pen: CanvasRenderingContext2D,
  { neighborLines, accent }: OverlayContent,
): void {
  if (!neighborLines) return;
  pen.globalAlpha = 0.4;
  pen.strokeStyle = accent;
  pen.lineWidth = 1;
  pen.beginPath();
  for (const { x, y } of neighborLines.to) {
    pen.moveTo(neighborLines.from.x, neighborLines.from.y);
    pen.lineTo(x, y);
  }
  pen.stroke();
  pen.globalAlpha = 1;
}

function drawRings(pen: CanvasRenderingContext2D, { rings, textColor }: OverlayContent): void {
  pen.strokeStyle = textColor;
  pen.lineWidth = 1.75;
  for (const { at, reach } of rings) {
    pen.beginPath();
    pen.arc(at.x, at.y, reach, 0, 2 * Math.PI);
    pen.stroke();
  }
}

/** A name whose place is taken is left out. */
function drawLabels(pen: CanvasRenderingContext2D, drawn: OverlayContent): void {
  const { labels, labelGap, textColor, background, width } = drawn;
  const taken: Box[] = [];
  pen.lineJoin = 'round';
  pen.textBaseline = 'middle';
  pen.strokeStyle = background;
  pen.fillStyle = textColor;
  pen.lineWidth = 3;
  for (const { at, text, isEmphasized } of labels) {
    pen.font = isEmphasized ? STRONG_FONT : PLAIN_FONT;
    const short =
      text.length > MAX_LABEL_CHARACTERS ? `${text.slice(0, MAX_LABEL_CHARACTERS - 1)}…` : text;
    const wide = pen.measureText(short).width;
    const left = at.x + labelGap + wide > width ? at.x - labelGap - wide : at.x + labelGap;
    const box = {
      left,
      right: left + wide,
      top: at.y - LABEL_HEIGHT_PX / 2,
      bottom: at.y + LABEL_HEIGHT_PX / 2,
    };
    if (taken.some((other) => overlaps(box, other))) continue;
    taken.push(box);
    pen.globalAlpha = isEmphasized ? 1 : 0.8;
    pen.strokeText(short, left, at.y);
    pen.fillText(short, left, at.y);
  }
  pen.globalAlpha = 1;
}

interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

function overlaps(one: Box, other: Box): boolean {
  return (
    one.left < other.right + 4 &&
    one.right > other.left - 4 &&
    one.top < other.bottom &&
    one.bottom > other.top
  );
}

function drawOutline(pen: CanvasRenderingContext2D, { outline, accent }: OverlayContent): void {
  const [first] = outline;
  if (!first) return;
  pen.beginPath();
  pen.moveTo(first.x, first.y);
  for (const { x, y } of outline) pen.lineTo(x, y);
  pen.closePath();
  pen.fillStyle = pen.strokeStyle = accent;
  pen.globalAlpha = 0.1;
  pen.fill();
  pen.globalAlpha = 1;
  pen.lineWidth = 1.5;
  pen.setLineDash([5, 4]);
  pen.stroke();
  pen.setLineDash([]);
}

import { FONT_FAMILY, type Point } from '../renderer/renderer';

/** A label beside a point. Earlier ones have priority where labels overlap. */
export interface PointLabel {
  readonly at: Point;
  readonly text: string;
  readonly isEmphasized: boolean;
}

/** What is drawn over the points. */
export interface OverlayContent {
  readonly width: number;
  readonly height: number;
  readonly textColor: string;
  readonly background: string;
  readonly accent: string;
  readonly labels: readonly PointLabel[];
  /** Names of regions, centered; they have priority over labels. */
  readonly regions?: readonly { readonly at: Point; readonly text: string }[];
  /** Distance from the center of a point to its label. */
  readonly labelGap: number;
  /** Circles around points, in the color of text unless given. */
  readonly rings: readonly {
    readonly at: Point;
    readonly radius: number;
    readonly color?: string;
  }[];
  /** Lines from a point to its neighbors. */
  readonly neighborLines: { readonly from: Point; readonly to: readonly Point[] } | null;
  /** Lines between consecutive points of a sequence. */
  readonly sequenceLines: readonly (readonly [Point, Point])[];
  /** Outline of a selection that is being drawn. */
  readonly outline: readonly Point[];
}

const LABEL_HEIGHT_PX = 14;
const MAX_LABEL_CHARACTERS = 32;
const PLAIN_FONT = `11px ${FONT_FAMILY}`;
const EMPHASIZED_FONT = `600 12px ${FONT_FAMILY}`;
const REGION_FONT = `600 13px ${FONT_FAMILY}`;
const REGION_HEIGHT_PX = 18;

export function drawOverlay(canvas: CanvasRenderingContext2D, content: OverlayContent): void {
  canvas.clearRect(0, 0, content.width, content.height);
  drawSequenceLines(canvas, content);
  drawNeighborLines(canvas, content);
  drawRings(canvas, content);
  drawLabels(canvas, content);
  drawOutline(canvas, content);
}

function drawSequenceLines(
  canvas: CanvasRenderingContext2D,
  { sequenceLines, textColor }: OverlayContent,
): void {
  if (sequenceLines.length === 0) return;
  canvas.globalAlpha = 0.25;
  canvas.strokeStyle = textColor;
  canvas.lineWidth = 1;
  canvas.beginPath();
  for (const [from, to] of sequenceLines) {
    canvas.moveTo(from.x, from.y);
    canvas.lineTo(to.x, to.y);
  }
  canvas.stroke();
  canvas.globalAlpha = 1;
}

function drawNeighborLines(
  canvas: CanvasRenderingContext2D,
  { neighborLines, accent }: OverlayContent,
): void {
  if (!neighborLines) return;
  canvas.globalAlpha = 0.4;
  canvas.strokeStyle = accent;
  canvas.lineWidth = 1;
  canvas.beginPath();
  for (const { x, y } of neighborLines.to) {
    canvas.moveTo(neighborLines.from.x, neighborLines.from.y);
    canvas.lineTo(x, y);
  }
  canvas.stroke();
  canvas.globalAlpha = 1;
}

function drawRings(canvas: CanvasRenderingContext2D, { rings, textColor }: OverlayContent): void {
  canvas.lineWidth = 1.75;
  for (const { at, radius, color = textColor } of rings) {
    canvas.strokeStyle = color;
    canvas.beginPath();
    canvas.arc(at.x, at.y, radius, 0, 2 * Math.PI);
    canvas.stroke();
  }
}

/** Labels that would overlap others are left out. */
function drawLabels(canvas: CanvasRenderingContext2D, content: OverlayContent): void {
  const { labels, labelGap, textColor, background, width } = content;
  const placed: Box[] = drawRegions(canvas, content);
  canvas.lineJoin = 'round';
  canvas.textBaseline = 'middle';
  canvas.strokeStyle = background;
  canvas.fillStyle = textColor;
  canvas.lineWidth = 3;
  for (const { at, text, isEmphasized } of labels) {
    canvas.font = isEmphasized ? EMPHASIZED_FONT : PLAIN_FONT;
    const short =
      text.length > MAX_LABEL_CHARACTERS ? `${text.slice(0, MAX_LABEL_CHARACTERS - 1)}…` : text;
    const textWidth = canvas.measureText(short).width;
    const isCut = at.x + labelGap + textWidth > width;
    const left = isCut ? at.x - labelGap - textWidth : at.x + labelGap;
    const box = {
      left,
      right: left + textWidth,
      top: at.y - LABEL_HEIGHT_PX / 2,
      bottom: at.y + LABEL_HEIGHT_PX / 2,
    };
    if (placed.some((other) => overlaps(box, other))) continue;
    placed.push(box);
    canvas.globalAlpha = isEmphasized ? 1 : 0.8;
    canvas.strokeText(short, left, at.y);
    canvas.fillText(short, left, at.y);
  }
  canvas.globalAlpha = 1;
}

/** Return the boxes of the names; names that would overlap earlier ones are left out. */
function drawRegions(
  canvas: CanvasRenderingContext2D,
  { regions = [], textColor, background, width, height }: OverlayContent,
): Box[] {
  const placed: Box[] = [];
  canvas.save();
  canvas.font = REGION_FONT;
  canvas.textBaseline = 'middle';
  canvas.textAlign = 'center';
  canvas.lineJoin = 'round';
  canvas.lineWidth = 4;
  canvas.strokeStyle = background;
  canvas.fillStyle = textColor;
  for (const { at, text } of regions) {
    const half = canvas.measureText(text).width / 2;
    const box = {
      left: at.x - half,
      right: at.x + half,
      top: at.y - REGION_HEIGHT_PX / 2,
      bottom: at.y + REGION_HEIGHT_PX / 2,
    };
    const isOutside = at.x < 0 || at.y < 0 || at.x > width || at.y > height;
    if (isOutside || placed.some((other) => overlaps(box, other))) continue;
    placed.push(box);
    canvas.strokeText(text, at.x, at.y);
    canvas.fillText(text, at.x, at.y);
  }
  canvas.restore();
  return placed;
}

interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

function overlaps(a: Box, b: Box): boolean {
  return a.left < b.right + 4 && a.right > b.left - 4 && a.top < b.bottom && a.bottom > b.top;
}

function drawOutline(canvas: CanvasRenderingContext2D, { outline, accent }: OverlayContent): void {
  const [first] = outline;
  if (!first) return;
  canvas.beginPath();
  canvas.moveTo(first.x, first.y);
  for (const { x, y } of outline) canvas.lineTo(x, y);
  canvas.closePath();
  canvas.fillStyle = canvas.strokeStyle = accent;
  canvas.globalAlpha = 0.1;
  canvas.fill();
  canvas.globalAlpha = 1;
  canvas.lineWidth = 1.5;
  canvas.setLineDash([5, 4]);
  canvas.stroke();
  canvas.setLineDash([]);
}

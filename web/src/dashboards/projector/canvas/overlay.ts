import type { Point } from '../../../charts/pen/pen';

/** A name beside a point; those that come first have their place first. */
export interface Caption {
  readonly at: Point;
  readonly text: string;
  readonly isStrong: boolean;
}

/** All that is drawn over the points. */
export interface Drawn {
  readonly width: number;
  readonly height: number;
  readonly ink: string;
  readonly paper: string;
  readonly accent: string;
  readonly captions: readonly Caption[];
  /** From the middle of a point to its name. */
  readonly gap: number;
  readonly rings: readonly { readonly at: Point; readonly reach: number }[];
  /** From one point to several others. */
  readonly rays: { readonly from: Point; readonly to: readonly Point[] } | null;
  /** Ways through points, one after another. */
  readonly trails: readonly (readonly [Point, Point])[];
  /** What a hand draws around points. */
  readonly outline: readonly Point[];
}

const HEIGHT = 14;
const LONGEST = 32;
const PLAIN_FONT = '11px system-ui, sans-serif';
const STRONG_FONT = '600 12px system-ui, sans-serif';

export function drawOverlay(pen: CanvasRenderingContext2D, drawn: Drawn): void {
  pen.clearRect(0, 0, drawn.width, drawn.height);
  drawTrails(pen, drawn);
  drawRays(pen, drawn);
  drawRings(pen, drawn);
  drawCaptions(pen, drawn);
  drawOutline(pen, drawn);
}

function drawTrails(pen: CanvasRenderingContext2D, { trails, ink }: Drawn): void {
  if (trails.length === 0) return;
  pen.globalAlpha = 0.25;
  pen.strokeStyle = ink;
  pen.lineWidth = 1;
  pen.beginPath();
  for (const [from, to] of trails) {
    pen.moveTo(from.x, from.y);
    pen.lineTo(to.x, to.y);
  }
  pen.stroke();
  pen.globalAlpha = 1;
}

function drawRays(pen: CanvasRenderingContext2D, { rays, accent }: Drawn): void {
  if (!rays) return;
  pen.globalAlpha = 0.4;
  pen.strokeStyle = accent;
  pen.lineWidth = 1;
  pen.beginPath();
  for (const { x, y } of rays.to) {
    pen.moveTo(rays.from.x, rays.from.y);
    pen.lineTo(x, y);
  }
  pen.stroke();
  pen.globalAlpha = 1;
}

function drawRings(pen: CanvasRenderingContext2D, { rings, ink }: Drawn): void {
  pen.strokeStyle = ink;
  pen.lineWidth = 1.75;
  for (const { at, reach } of rings) {
    pen.beginPath();
    pen.arc(at.x, at.y, reach, 0, 2 * Math.PI);
    pen.stroke();
  }
}

/** A name whose place is taken is left out. */
function drawCaptions(pen: CanvasRenderingContext2D, drawn: Drawn): void {
  const { captions, gap, ink, paper, width } = drawn;
  const taken: Box[] = [];
  pen.lineJoin = 'round';
  pen.textBaseline = 'middle';
  pen.strokeStyle = paper;
  pen.fillStyle = ink;
  pen.lineWidth = 3;
  for (const { at, text, isStrong } of captions) {
    pen.font = isStrong ? STRONG_FONT : PLAIN_FONT;
    const short = text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text;
    const wide = pen.measureText(short).width;
    const left = at.x + gap + wide > width ? at.x - gap - wide : at.x + gap;
    const box = { left, right: left + wide, top: at.y - HEIGHT / 2, bottom: at.y + HEIGHT / 2 };
    if (taken.some((other) => overlaps(box, other))) continue;
    taken.push(box);
    pen.globalAlpha = isStrong ? 1 : 0.8;
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

function drawOutline(pen: CanvasRenderingContext2D, { outline, accent }: Drawn): void {
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

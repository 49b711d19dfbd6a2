import { FONT } from '../../../../charts/pen/pen';
import { shorten } from '../../../../charts/picture/chip';
import { LIGHT } from '../../../../charts/picture/palette';
import { drawOverlay } from '../draw/overlay';
import { Picture } from '../draw/picture';
import { mixShades } from '../draw/shades';
import { marksOver, placesOf, sceneOf } from '../stage/scene';
import { fitCanvas } from '../stage/surface';
import type { Model } from '../state/model.svelte';
import type { Trace } from '../state/trace.svelte';
import type { Band } from '../view/layout';
import { lengthOf } from '../view/span';
import { stepBoxes } from '../view/steps';
import { formatPs, marksAlong, marksOf } from '../view/times';

const [TITLE, RULER, LABELS, INSET] = [36, 44, 190, 10];
const NARROWEST_MARK = 44;
const STEP = { top: 24, height: 17 };

type Paper = OffscreenCanvasRenderingContext2D;

/** The trace as it is seen, on white paper: the time, what tracks are called, and their events. */
export function drawPng(trace: Trace, title: string): Promise<Blob> {
  const ratio = devicePixelRatio || 1;
  const width = LABELS + trace.one.width;
  const height = TITLE + trace.models.reduce((sum, model) => sum + RULER + heightOf(model), 0);
  const canvas = new OffscreenCanvas(Math.round(width * ratio), Math.round(height * ratio));
  const paper = canvas.getContext('2d');
  if (!paper) throw new Error('there is no room for a picture of this size');
  paper.scale(ratio, ratio);
  paper.fillStyle = LIGHT.paper;
  paper.fillRect(0, 0, width, height);
  write(paper, title, INSET, TITLE / 2, width - 2 * INSET, LIGHT.text, 14);
  let top = TITLE;
  for (const model of trace.models) {
    drawModel(paper, trace, model, top);
    top += RULER + heightOf(model);
  }
  return canvas.convertToBlob({ type: 'image/png' });
}

/** What is below the last track is no part of the picture. */
function heightOf({ height, layout, scroll }: Model): number {
  return Math.min(height, layout.pinnedHeight + layout.restHeight - scroll);
}

function drawModel(paper: Paper, trace: Trace, model: Model, top: number): void {
  paper.save();
  paper.translate(0, top);
  drawRuler(paper, trace, model);
  paper.translate(0, RULER);
  paper.beginPath();
  paper.rect(0, 0, LABELS + model.width, heightOf(model));
  paper.clip();
  const { rest, pinned, pinnedHeight } = model.layout;
  for (const band of rest) drawLabel(paper, band, band.top + pinnedHeight - model.scroll);
  for (const band of pinned) drawLabel(paper, band, band.top);
  for (const picture of paint(trace, model))
    paper.drawImage(picture, LABELS, 0, model.width, model.height);
  paper.restore();
}

/** The same pictures as on the screen, in the colours of paper. */
function paint(trace: Trace, model: Model): HTMLCanvasElement[] {
  const [below, above] = [document.createElement('canvas'), document.createElement('canvas')];
  const ratio = fitCanvas(below, model.width, model.height);
  const scene = sceneOf(trace, model, mixShades(LIGHT.paper, LIGHT.axis, false), LIGHT);
  if (scene) new Picture().draw(below, ratio, scene);
  fitCanvas(above, model.width, model.height);
  const context = above.getContext('2d');
  context?.scale(ratio, ratio);
  if (context)
    drawOverlay(context, placesOf(trace, model), {
      ...marksOver(model, LIGHT),
      hovered: null,
      rule: null,
    });
  return [below, above];
}

function drawRuler(paper: Paper, trace: Trace, model: Model): void {
  const { width, timeline } = model;
  const span = trace.spanOf(model);
  for (const { at, text } of marksOf(span, marksAlong(width))) {
    const x = LABELS + ((at - span.start) / lengthOf(span)) * width;
    paper.fillStyle = LIGHT.axis;
    paper.fillRect(Math.round(x), 0, 1, STEP.top - 2);
    const room = LABELS + width - x - 4;
    if (room > NARROWEST_MARK) write(paper, text, x + 4, STEP.top / 2 - 1, room, LIGHT.label);
  }
  if (!timeline.answer) return;
  for (const step of stepBoxes(timeline.answer.steps, span, width)) {
    const left = LABELS + step.left;
    paper.fillStyle = step.at % 2 === 1 ? LIGHT.grid : LIGHT.axis;
    paper.fillRect(left, STEP.top, step.width - 1, STEP.height);
    const text = step.isWide ? `${step.text} ${formatPs(step.end - step.start)}` : step.text;
    write(paper, text, left + 5, STEP.top + STEP.height / 2, step.width - 10, LIGHT.text);
  }
}

function drawLabel(paper: Paper, { track, height }: Band, top: number): void {
  paper.fillStyle = LIGHT.paper;
  paper.fillRect(0, top, LABELS, height);
  paper.fillStyle = LIGHT.axis;
  paper.fillRect(0, top + height - 1, LABELS, 1);
  const name = track.name.trim() || track.process;
  write(paper, name, INSET, top + 13, LABELS - 2 * INSET, LIGHT.text, 12);
}

function write(
  paper: Paper,
  text: string,
  x: number,
  y: number,
  room: number,
  colour: string,
  size = 11,
): void {
  if (text === '') return;
  paper.font = `${size}px ${FONT}`;
  paper.textBaseline = 'middle';
  paper.fillStyle = colour;
  const widthOf = (words: string): number => paper.measureText(words).width;
  paper.fillText(shorten({ widthOf }, text, room), x, y);
}

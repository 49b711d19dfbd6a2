import { FONT_FAMILY } from '../../../charts/renderer/renderer';
import { truncateToWidth } from '../../../charts/axes/axis-renderer';
import { LIGHT_THEME } from '../../../charts/renderer/chart-theme';
import { drawOverlay } from './timeline/overlay-renderer';
import { resizeCanvas, TrackRenderer } from './timeline/track-renderer';
import { makeBarPalette } from './timeline/bar-renderer';
import { makeOverlay, makeGeometry, makeScene } from './timeline/trace-scene';
import type { TraceModel } from './trace-model.svelte';
import type { TraceState } from './trace-state.svelte';
import type { TrackBand } from './timeline/track-layout';
import {
  formatDurationPs,
  getSpanLength,
  getTickCount,
  layoutSteps,
  makeTimeTicks,
} from './timeline/time-axis';

const [TITLE, RULER, LABELS, INSET] = [36, 44, 190, 10];
const MIN_TICK_LABEL_PX = 44;
const STEP = { top: 24, height: 17 };

type ExportContext = OffscreenCanvasRenderingContext2D;

/** The trace as it is seen, on white paper: the time, what tracks are called, and their events. */
export function renderTracePng(trace: TraceState, title: string): Promise<Blob> {
  const ratio = devicePixelRatio || 1;
  const width = LABELS + trace.current.width;
  const height =
    TITLE + trace.models.reduce((sum, model) => sum + RULER + getModelHeight(model), 0);
  const canvas = new OffscreenCanvas(Math.round(width * ratio), Math.round(height * ratio));
  const paper = canvas.getContext('2d');
  if (!paper) throw new Error('there is no room for a picture of this size');
  paper.scale(ratio, ratio);
  paper.fillStyle = LIGHT_THEME.background;
  paper.fillRect(0, 0, width, height);
  drawText(paper, title, INSET, TITLE / 2, width - 2 * INSET, LIGHT_THEME.text, 14);
  let top = TITLE;
  for (const model of trace.models) {
    drawModel(paper, trace, model, top);
    top += RULER + getModelHeight(model);
  }
  return canvas.convertToBlob({ type: 'image/png' });
}

/** What is below the last track is no part of the picture. */
function getModelHeight({ height, layout, scroll }: TraceModel): number {
  return Math.min(height, layout.pinnedHeight + layout.unpinnedHeight - scroll);
}

function drawModel(paper: ExportContext, trace: TraceState, model: TraceModel, top: number): void {
  paper.save();
  paper.translate(0, top);
  drawRuler(paper, trace, model);
  paper.translate(0, RULER);
  paper.beginPath();
  paper.rect(0, 0, LABELS + model.width, getModelHeight(model));
  paper.clip();
  const { unpinned, pinned, pinnedHeight } = model.layout;
  for (const band of unpinned) drawTrackLabel(paper, band, band.top + pinnedHeight - model.scroll);
  for (const band of pinned) drawTrackLabel(paper, band, band.top);
  for (const picture of renderLayers(trace, model))
    paper.drawImage(picture, LABELS, 0, model.width, model.height);
  paper.restore();
}

/** The same pictures as on the screen, in the colours of paper. */
function renderLayers(trace: TraceState, model: TraceModel): HTMLCanvasElement[] {
  const [below, above] = [document.createElement('canvas'), document.createElement('canvas')];
  const ratio = resizeCanvas(below, model.width, model.height);
  const scene = makeScene(
    trace,
    model,
    makeBarPalette(LIGHT_THEME.background, LIGHT_THEME.axis, false),
    LIGHT_THEME,
  );
  if (scene) new TrackRenderer().draw(below, ratio, scene);
  resizeCanvas(above, model.width, model.height);
  const context = above.getContext('2d');
  context?.scale(ratio, ratio);
  if (context)
    drawOverlay(context, makeGeometry(trace, model), {
      ...makeOverlay(model, LIGHT_THEME),
      hovered: null,
      cursorPs: null,
    });
  return [below, above];
}

function drawRuler(paper: ExportContext, trace: TraceState, model: TraceModel): void {
  const { width, timelineQuery } = model;
  const span = trace.getVisibleSpan(model);
  for (const { at, text } of makeTimeTicks(span, getTickCount(width))) {
    const x = LABELS + ((at - span.start) / getSpanLength(span)) * width;
    paper.fillStyle = LIGHT_THEME.axis;
    paper.fillRect(Math.round(x), 0, 1, STEP.top - 2);
    const room = LABELS + width - x - 4;
    if (room > MIN_TICK_LABEL_PX)
      drawText(paper, text, x + 4, STEP.top / 2 - 1, room, LIGHT_THEME.label);
  }
  if (!timelineQuery.data) return;
  for (const step of layoutSteps(timelineQuery.data.steps, span, width)) {
    const left = LABELS + step.left;
    paper.fillStyle = step.index % 2 === 1 ? LIGHT_THEME.grid : LIGHT_THEME.axis;
    paper.fillRect(left, STEP.top, step.width - 1, STEP.height);
    const text = step.showsDuration
      ? `${step.text} ${formatDurationPs(step.end - step.start)}`
      : step.text;
    drawText(paper, text, left + 5, STEP.top + STEP.height / 2, step.width - 10, LIGHT_THEME.text);
  }
}

function drawTrackLabel(paper: ExportContext, { track, height }: TrackBand, top: number): void {
  paper.fillStyle = LIGHT_THEME.background;
  paper.fillRect(0, top, LABELS, height);
  paper.fillStyle = LIGHT_THEME.axis;
  paper.fillRect(0, top + height - 1, LABELS, 1);
  const name = track.name.trim() || track.process;
  drawText(paper, name, INSET, top + 13, LABELS - 2 * INSET, LIGHT_THEME.text, 12);
}

function drawText(
  paper: ExportContext,
  text: string,
  x: number,
  y: number,
  room: number,
  colour: string,
  size = 11,
): void {
  if (text === '') return;
  paper.font = `${size}px ${FONT_FAMILY}`;
  paper.textBaseline = 'middle';
  paper.fillStyle = colour;
  const widthOf = (words: string): number => paper.measureText(words).width;
  paper.fillText(truncateToWidth({ measureText: widthOf }, text, room), x, y);
}

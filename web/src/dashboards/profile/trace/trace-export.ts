import { LIGHT_THEME, makeFont } from '../../../charts/renderer/renderer';
import { truncateToWidth } from '../../../charts/axes/plot-axes';
import { drawOverlay, resizeCanvas, TrackRenderer } from './timeline/track-renderer';
import { makeBarPalette } from './timeline/bar-renderer';
import { makeOverlay, makeGeometry, makeScene } from './timeline/trace-scene';
import type { TraceModel } from './trace-model.svelte';
import type { TraceState } from './trace-state.svelte';
import {
  formatDurationPs,
  getSpanLength,
  getTickCount,
  layoutSteps,
  makeTimeTicks,
  type TrackBand,
} from './timeline/timeline-layout';

const [TITLE_PX, RULER_PX, LABELS_PX, INSET_PX] = [36, 44, 190, 10];
const MIN_TICK_LABEL_PX = 44;
const STEP = { top: 24, height: 17 };

type ExportContext = OffscreenCanvasRenderingContext2D;

/** Draw the visible part of the trace in light colors; null if the image is too large. */
export async function renderTracePng(trace: TraceState, title: string): Promise<Blob | null> {
  const ratio = devicePixelRatio || 1;
  const width = LABELS_PX + trace.current.width;
  const height =
    TITLE_PX + trace.models.reduce((sum, model) => sum + RULER_PX + getModelHeight(model), 0);
  const canvas = new OffscreenCanvas(Math.round(width * ratio), Math.round(height * ratio));
  const context = canvas.getContext('2d');
  if (!context) return null;
  context.scale(ratio, ratio);
  context.fillStyle = LIGHT_THEME.background;
  context.fillRect(0, 0, width, height);
  drawText(context, title, INSET_PX, TITLE_PX / 2, width - 2 * INSET_PX, LIGHT_THEME.text, 14);
  let top = TITLE_PX;
  for (const model of trace.models) {
    drawModel(context, trace, model, top);
    top += RULER_PX + getModelHeight(model);
  }
  return canvas.convertToBlob({ type: 'image/png' });
}

/** Return the height without the empty area below the last track. */
function getModelHeight({ height, layout, scroll }: TraceModel): number {
  return Math.min(height, layout.pinnedHeight + layout.unpinnedHeight - scroll);
}

function drawModel(
  context: ExportContext,
  trace: TraceState,
  model: TraceModel,
  top: number,
): void {
  context.save();
  context.translate(0, top);
  drawRuler(context, trace, model);
  context.translate(0, RULER_PX);
  context.beginPath();
  context.rect(0, 0, LABELS_PX + model.width, getModelHeight(model));
  context.clip();
  const { unpinned, pinned, pinnedHeight } = model.layout;
  for (const band of unpinned)
    drawTrackLabel(context, band, band.top + pinnedHeight - model.scroll);
  for (const band of pinned) drawTrackLabel(context, band, band.top);
  for (const layer of renderLayers(trace, model))
    context.drawImage(layer, LABELS_PX, 0, model.width, model.height);
  context.restore();
}

/** Draw the canvases of the timeline in light colors. */
function renderLayers(trace: TraceState, model: TraceModel): HTMLCanvasElement[] {
  const [tracks, overlay] = [document.createElement('canvas'), document.createElement('canvas')];
  const ratio = resizeCanvas(tracks, model.width, model.height);
  const scene = makeScene(
    trace,
    model,
    makeBarPalette(LIGHT_THEME.background, LIGHT_THEME.axis, false),
    LIGHT_THEME,
  );
  if (scene) new TrackRenderer().draw(tracks, ratio, scene);
  resizeCanvas(overlay, model.width, model.height);
  const overlayContext = overlay.getContext('2d');
  overlayContext?.scale(ratio, ratio);
  if (overlayContext)
    drawOverlay(overlayContext, makeGeometry(trace, model), {
      ...makeOverlay(model, LIGHT_THEME),
      hovered: null,
      cursorPs: null,
    });
  return [tracks, overlay];
}

function drawRuler(context: ExportContext, trace: TraceState, model: TraceModel): void {
  const { width, timelineQuery } = model;
  const span = trace.getVisibleSpan(model);
  for (const { timePs, text } of makeTimeTicks(span, getTickCount(width))) {
    const x = LABELS_PX + ((timePs - span.start) / getSpanLength(span)) * width;
    context.fillStyle = LIGHT_THEME.axis;
    context.fillRect(Math.round(x), 0, 1, STEP.top - 2);
    const maxWidth = LABELS_PX + width - x - 4;
    if (maxWidth > MIN_TICK_LABEL_PX)
      drawText(context, text, x + 4, STEP.top / 2 - 1, maxWidth, LIGHT_THEME.label);
  }
  if (!timelineQuery.data) return;
  for (const step of layoutSteps(timelineQuery.data.steps, span, width)) {
    const left = LABELS_PX + step.left;
    context.fillStyle = step.index % 2 === 1 ? LIGHT_THEME.grid : LIGHT_THEME.axis;
    context.fillRect(left, STEP.top, step.width - 1, STEP.height);
    const text = step.showsDuration
      ? `${step.text} ${formatDurationPs(step.end - step.start)}`
      : step.text;
    drawText(
      context,
      text,
      left + 5,
      STEP.top + STEP.height / 2,
      step.width - 10,
      LIGHT_THEME.text,
    );
  }
}

function drawTrackLabel(context: ExportContext, { track, height }: TrackBand, top: number): void {
  context.fillStyle = LIGHT_THEME.background;
  context.fillRect(0, top, LABELS_PX, height);
  context.fillStyle = LIGHT_THEME.axis;
  context.fillRect(0, top + height - 1, LABELS_PX, 1);
  const name = track.name.trim() || track.process;
  drawText(context, name, INSET_PX, top + 13, LABELS_PX - 2 * INSET_PX, LIGHT_THEME.text, 12);
}

function drawText(
  context: ExportContext,
  text: string,
  x: number,
  y: number,
  maxWidth: number,
  color: string,
  size = 11,
): void {
  if (text === '') return;
  context.font = makeFont({ size });
  context.textBaseline = 'middle';
  context.fillStyle = color;
  const measureText = (text: string): number => context.measureText(text).width;
  context.fillText(truncateToWidth({ measureText }, text, maxWidth), x, y);
}

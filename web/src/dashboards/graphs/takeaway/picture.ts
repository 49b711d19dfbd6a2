import { mount, unmount } from 'svelte';

import { LIGHT } from '../../../charts/picture/palette';
import { NO_MARKS } from '../canvas/marks';
import type { Graphs } from '../graphs.svelte';
import Sheet from './Sheet.svelte';

const DENSITY = 2;
/** What browsers take for a canvas along one side. */
const MOST_PIXELS = 12_000;

/** The whole picture, on white paper, whatever part of it is on the screen. */
export function drawSvg({ stage, params, colours, marks }: Graphs, title: string): string {
  const target = document.createElement('div');
  const isTraced = marks.count > 0;
  const sheet = mount(Sheet, {
    target,
    props: {
      drawing: stage.drawing,
      direction: params.flow.value,
      lookOf: colours.lookIn(LIGHT),
      inkOf: colours.inkOf,
      marks: isTraced ? marks : NO_MARKS,
      legend: colours.legendIn(LIGHT),
      title,
    },
  });
  const svg = target.querySelector('svg');
  const text = svg ? new XMLSerializer().serializeToString(svg) : '';
  void unmount(sheet);
  return text;
}

export async function drawPng(graphs: Graphs, title: string): Promise<Blob> {
  const svg = drawSvg(graphs, title);
  const image = new Image();
  image.src = URL.createObjectURL(new Blob([svg], { type: 'image/svg+xml' }));
  await image.decode();
  const { naturalWidth: width, naturalHeight: height } = image;
  const density = Math.min(DENSITY, MOST_PIXELS / Math.max(width, height));
  const canvas = new OffscreenCanvas(
    Math.max(1, Math.round(width * density)),
    Math.max(1, Math.round(height * density)),
  );
  canvas.getContext('2d')?.drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(image.src);
  return canvas.convertToBlob({ type: 'image/png' });
}

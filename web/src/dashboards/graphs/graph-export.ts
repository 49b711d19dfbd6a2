import { mount, unmount } from 'svelte';

import type { GraphFileRequest, GraphRow } from '../../api/schemas';
import { makeWireRequest } from '../../api/transport';
import { downloadBlob, downloadUrl, toFileName } from '../../cards/export';
import * as common from '../../catalog/common';
import * as m from '../../catalog/graphs';
import { LIGHT_THEME } from '../../charts/renderer/renderer';
import type { MenuItem } from '../../components/MenuItems.svelte';
import { NO_HIGHLIGHTS } from './canvas/graph-drawing';
import GraphExportImage from './canvas/GraphExportImage.svelte';
import { getGraphName } from './graph-labels';
import type { GraphsState } from './graphs-state.svelte';

const EXPORT_PIXEL_RATIO = 2;
/** Browsers limit the size of a canvas. */
const MAX_CANVAS_PX = 12_000;
const SVG_TYPE = 'image/svg+xml';

/** Return menu items that export the drawing as an image, or all nodes as a file. */
export function listGraphExportItems(graphs: GraphsState): MenuItem[][] {
  const { catalog, context } = graphs;
  const getName = (row: GraphRow): string => getGraphName(row, catalog.getRunLabel);
  const title =
    [catalog.current, catalog.other]
      .flatMap((row) => row ?? [])
      .map(getName)
      .join(' → ') || m.exportFileName;
  const images: MenuItem[] = [
    {
      label: common.exportSvg,
      run: () =>
        downloadBlob(
          new Blob([renderSvg(graphs, title)], { type: SVG_TYPE }),
          `${toFileName(title)}.svg`,
        ),
    },
    {
      label: common.exportPng,
      run: () =>
        void renderPng(graphs, title).then((blob) =>
          downloadBlob(blob, `${toFileName(title)}.png`),
        ),
    },
  ];
  if (!context.supports('GET graphs/file')) return [images];
  // The server streams the file to the browser's downloads.
  const download = (format: GraphFileRequest['format']): void => {
    if (catalog.reference)
      downloadUrl(
        makeWireRequest('GET graphs/file', {
          ...catalog.reference,
          format,
          title: toFileName(title),
        }).path,
      );
  };
  const files: MenuItem[] = [
    { label: m.exportJson, run: () => download('json') },
    { label: m.exportDot, run: () => download('dot') },
  ];
  return [images, files];
}

/** Render the whole drawing on a white background, whatever part of it is on the screen. */
function renderSvg({ viewport, params, coloring, highlights }: GraphsState, title: string): string {
  const target = document.createElement('div');
  const component = mount(GraphExportImage, {
    target,
    props: {
      drawing: viewport.drawing,
      direction: params.direction.value,
      appearanceOf: coloring.appearanceFor(LIGHT_THEME),
      edgeColor: coloring.edgeColor,
      highlights: highlights.isTracing ? highlights : NO_HIGHLIGHTS,
      legend: coloring.legendFor(LIGHT_THEME),
      title,
    },
  });
  const svg = target.querySelector('svg');
  const text = svg ? new XMLSerializer().serializeToString(svg) : '';
  void unmount(component);
  return text;
}

async function renderPng(graphs: GraphsState, title: string): Promise<Blob> {
  const image = new Image();
  image.src = URL.createObjectURL(new Blob([renderSvg(graphs, title)], { type: SVG_TYPE }));
  await image.decode();
  const { naturalWidth: width, naturalHeight: height } = image;
  const ratio = Math.min(EXPORT_PIXEL_RATIO, MAX_CANVAS_PX / Math.max(width, height));
  const canvas = new OffscreenCanvas(
    Math.max(1, Math.round(width * ratio)),
    Math.max(1, Math.round(height * ratio)),
  );
  canvas.getContext('2d')?.drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(image.src);
  return canvas.convertToBlob({ type: 'image/png' });
}

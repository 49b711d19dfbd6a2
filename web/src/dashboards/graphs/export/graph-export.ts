import { mount, unmount } from 'svelte';

import { downloadBlob, downloadUrl, toFileName } from '../../../cards/export';
import { LIGHT_THEME } from '../../../charts/renderer/chart-theme';
import type { MenuItem } from '../../../components/menu';
import { NO_HIGHLIGHTS } from '../canvas/graph-drawing';
import type { GraphsState } from '../graphs-state.svelte';
import { formatGraphQuery } from '../query.svelte';
import GraphExportSheet from './GraphExportSheet.svelte';

const EXPORT_PIXEL_RATIO = 2;
/** What browsers take for a canvas along one side. */
const MAX_CANVAS_PX = 12_000;

/** The whole picture, on white paper, whatever part of it is on the screen. */
export function renderSvg(
  { viewport, params, coloring, highlights }: GraphsState,
  title: string,
): string {
  const target = document.createElement('div');
  const isTraced = highlights.tracedCount > 0;
  const sheet = mount(GraphExportSheet, {
    target,
    props: {
      drawing: viewport.drawing,
      direction: params.direction.value,
      appearanceOf: coloring.appearanceFor(LIGHT_THEME),
      edgeColor: coloring.edgeColor,
      highlights: isTraced ? highlights : NO_HIGHLIGHTS,
      legend: coloring.legendFor(LIGHT_THEME),
      title,
    },
  });
  const svg = target.querySelector('svg');
  const text = svg ? new XMLSerializer().serializeToString(svg) : '';
  void unmount(sheet);
  return text;
}

export async function renderPng(graphs: GraphsState, title: string): Promise<Blob> {
  const svg = renderSvg(graphs, title);
  const image = new Image();
  image.src = URL.createObjectURL(new Blob([svg], { type: 'image/svg+xml' }));
  await image.decode();
  const { naturalWidth: width, naturalHeight: height } = image;
  const density = Math.min(EXPORT_PIXEL_RATIO, MAX_CANVAS_PX / Math.max(width, height));
  const canvas = new OffscreenCanvas(
    Math.max(1, Math.round(width * density)),
    Math.max(1, Math.round(height * density)),
  );
  canvas.getContext('2d')?.drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(image.src);
  return canvas.convertToBlob({ type: 'image/png' });
}

/** What of a graph can be taken away: the picture as it is open now, or all of its nodes. */
export function graphExportItems(graphs: GraphsState): MenuItem[][] {
  const title = exportTitle(graphs);
  const pictures = [
    {
      label: 'Picture as SVG',
      run: () =>
        downloadBlob(
          new Blob([renderSvg(graphs, title)], SVG_BLOB_OPTIONS),
          `${toFileName(title)}.svg`,
        ),
    },
    {
      label: 'Picture as PNG',
      run: () =>
        void renderPng(graphs, title).then((blob) =>
          downloadBlob(blob, `${toFileName(title)}.png`),
        ),
    },
  ];
  if (graphs.context.isStatic) return [pictures];
  const files = (['json', 'dot'] as const).map((format) => ({
    label: `All nodes as ${format === 'json' ? 'JSON' : 'DOT (Graphviz)'}`,
    run: () => downloadFile(graphs, format),
  }));
  return [pictures, files];
}

const SVG_BLOB_OPTIONS = { type: 'image/svg+xml' };

function exportTitle({ catalog }: GraphsState): string {
  const { run = '', title = 'graph' } = catalog.current ?? {};
  return run === '' ? title : `${run} ${title}`;
}

/** The server streams it, so the browser is sent there. */
function downloadFile({ context, catalog }: GraphsState, format: 'json' | 'dot'): void {
  if (!catalog.reference) return;
  downloadUrl(context.api.url(`file?${formatGraphQuery(catalog.reference, { format })}`));
}

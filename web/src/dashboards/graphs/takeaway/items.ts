import { fileName, saveAs, saveFrom } from '../../../wall/takeaway/save';
import type { MenuItem } from '../../../widgets/menu';
import type { Graphs } from '../graphs.svelte';
import { queryOf } from '../state/reference';
import { drawPng, drawSvg } from './picture';

/** What of a graph can be taken away: the picture as it is open now, or all of its nodes. */
export function downloadItems(graphs: Graphs): MenuItem[][] {
  const title = titleOf(graphs);
  const pictures = [
    {
      label: 'Picture as SVG',
      run: () => saveAs(new Blob([drawSvg(graphs, title)], SVG), `${fileName(title)}.svg`),
    },
    {
      label: 'Picture as PNG',
      run: () => void drawPng(graphs, title).then((blob) => saveAs(blob, `${fileName(title)}.png`)),
    },
  ];
  if (graphs.context.isStatic) return [pictures];
  const files = (['json', 'dot'] as const).map((format) => ({
    label: `All nodes as ${format === 'json' ? 'JSON' : 'DOT (Graphviz)'}`,
    run: () => downloadFile(graphs, format),
  }));
  return [pictures, files];
}

const SVG = { type: 'image/svg+xml' };

function titleOf({ catalog }: Graphs): string {
  const { run = '', title = 'graph' } = catalog.current ?? {};
  return run === '' ? title : `${run} ${title}`;
}

/** The server streams it, so the browser is sent there. */
function downloadFile({ context, catalog }: Graphs, format: 'json' | 'dot'): void {
  if (!catalog.reference) return;
  saveFrom(context.api.url(`file?${queryOf(catalog.reference, { format })}`));
}

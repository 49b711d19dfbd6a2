import { problemOf } from '../../../api/client';
import type { TableFormat } from '../../../api/histograms';
import { fileName, saveAs } from '../../../wall/takeaway/save';
import type { Board } from '../board.svelte';
import type { CardSpread } from '../card/spread.svelte';

/** The buckets of one card, of the steps that are seen, as a file. */
export function saveBuckets(board: Board, chart: CardSpread, format: TableFormat): Promise<void> {
  const [start, stop] = chart.zoom?.steps ?? [null, null];
  const name = fileName(chart.card.title);
  return save(board, { tags: [chart.card.tag], start, stop, format }, name);
}

/** The buckets of all cards of the view as one file. */
export function saveView(board: Board, format: TableFormat): Promise<void> {
  const tags = [...new Set(board.sections.flatMap(({ cards }) => cards.map(({ tag }) => tag)))];
  return save(board, { tags, start: null, stop: null, format }, 'histograms');
}

interface What {
  readonly tags: readonly string[];
  readonly start: number | null;
  readonly stop: number | null;
  readonly format: TableFormat;
}

async function save(board: Board, what: What, name: string): Promise<void> {
  const { runs, x } = board.view;
  board.trouble = null;
  try {
    saveAs(await board.context.api.blob('table', { runs, x, ...what }), `${name}.${what.format}`);
  } catch (error) {
    board.trouble = problemOf(error);
    board.settings.panel.set(true);
  }
}

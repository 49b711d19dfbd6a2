import { toggleName } from '../../../wall/card-set';
import { pictureItems } from '../../../wall/takeaway/menu';
import type { Pictures } from '../../../wall/takeaway/pictures';
import type { MenuItem } from '../../../widgets/menu';
import type { Board } from '../board.svelte';
import { saveBuckets } from '../takeaway/save';
import type { CardSpread } from './spread.svelte';

/** The menu of a card: what is seen of it, and what is taken away. */
export function menuOf(
  board: Board,
  chart: CardSpread,
  takePicture: () => Pictures | null,
  readInPython: () => void,
): readonly (readonly MenuItem[])[] {
  return [viewItems(board, chart), takeItems(board, chart, takePicture, readInPython)];
}

/** What a card can be shown as. */
export function formItems({ settings }: Board, { card, isTable }: CardSpread): MenuItem[] {
  const { tables } = settings;
  const run = (): void => tables.set(toggleName(tables.value, card.id));
  return [{ label: 'As a table', checked: isTable, run }];
}

function viewItems({ settings, kind }: Board, chart: CardSpread): MenuItem[] {
  const { logCounts, logValues, ignoreOutliers } = settings;
  const log = kind === 'histograms' ? logCounts : logValues;
  return [
    {
      label:
        kind === 'histograms' ? 'Logarithmic counts, all cards' : 'Logarithmic values, all cards',
      hint: 'y',
      checked: log.value,
      run: () => log.set(!log.value),
    },
    {
      label: 'Ignore outliers, all cards',
      checked: ignoreOutliers.value,
      run: () => ignoreOutliers.set(!ignoreOutliers.value),
    },
    {
      label: 'Fit to data',
      icon: 'fit',
      disabled: chart.zoom === null,
      run: () => chart.showPart(null),
    },
  ];
}

function takeItems(
  board: Board,
  chart: CardSpread,
  takePicture: () => Pictures | null,
  readInPython: () => void,
): MenuItem[] {
  const table = (format: 'csv' | 'json'): MenuItem => ({
    label: `Download ${format.toUpperCase()}`,
    run: () => void saveBuckets(board, chart, format),
  });
  return [
    ...(board.context.isStatic ? [] : [table('csv'), table('json')]),
    ...pictureItems(takePicture, chart.card.title),
    { label: 'Copy as Python …', run: readInPython },
  ];
}

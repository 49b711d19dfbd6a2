import type { MenuItem } from '../../widgets/menu';
import { withCard } from '../../wall/by-card';
import { includes, toggle } from '../../wall/card-set';
import { pictureItems } from '../../wall/takeaway/menu';
import type { Pictures } from '../../wall/takeaway/pictures';
import type { CardChart } from '../chart.svelte';
import type { CurveWall } from '../curve-wall.svelte';
import { saveCardTable } from '../takeaway/save';

/** Windows that a card opens to ask for something. */
export type CardWindow = 'limits' | 'note' | 'python';

type Groups = readonly (readonly MenuItem[])[];

/** The menu of a card: its axes, what is added to it, what is taken away. `own` is of one wall. */
export function menuOf(
  curves: CurveWall,
  chart: CardChart,
  takePicture: () => Pictures | null,
  open: (window: CardWindow) => void,
  own: readonly MenuItem[],
): Groups {
  return [
    axisItems(curves, chart, open),
    [...own, ...noteItems(curves, open)],
    takeItems(curves, chart, takePicture, open),
  ];
}

/** What a card can be shown as. */
export function formItems({ settings }: CurveWall, { card, form }: CardChart): MenuItem[] {
  const { forms } = settings;
  const show = (wanted: typeof form): void =>
    forms.set(
      withCard(forms.value, card.id, wanted === 'chart' || wanted === form ? null : wanted),
    );
  return [
    { label: 'As a table', checked: form === 'table', run: () => show('table') },
    { label: 'As bars over runs', checked: form === 'bars', run: () => show('bars') },
  ];
}

function axisItems(
  { settings }: CurveWall,
  chart: CardChart,
  open: (window: CardWindow) => void,
): MenuItem[] {
  const { logX, logY, zooms } = settings;
  const { id } = chart.card;
  return [
    {
      label: 'Logarithmic y axis',
      hint: 'y',
      checked: includes(logY.value, id),
      run: () => logY.set(toggle(logY.value, id)),
    },
    {
      label: 'Logarithmic x axis',
      checked: includes(logX.value, id),
      run: () => logX.set(toggle(logX.value, id)),
    },
    {
      label: 'Fit to data',
      icon: 'fit',
      disabled: chart.zoom === null,
      run: () => zooms.set(withCard(zooms.value, id, null)),
    },
    { label: 'Limits of the axes …', run: () => open('limits') },
  ];
}

function noteItems({ context }: CurveWall, open: (window: CardWindow) => void): MenuItem[] {
  // A copy of a board can show notes, but has nobody to keep new ones.
  return context.isStatic ? [] : [{ label: 'Note at a step …', run: () => open('note') }];
}

function takeItems(
  curves: CurveWall,
  { card }: CardChart,
  takePicture: () => Pictures | null,
  open: (window: CardWindow) => void,
): MenuItem[] {
  const table = (format: 'csv' | 'json'): MenuItem => ({
    label: `Download ${format.toUpperCase()}`,
    run: () => void saveCardTable(curves, card, format),
  });
  return [
    ...(curves.context.isStatic ? [] : [table('csv'), table('json')]),
    ...pictureItems(takePicture, card.title),
    { label: 'Copy as Python …', run: () => open('python') },
  ];
}

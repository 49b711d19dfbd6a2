import { withCard } from '../../../wall/by-card';
import { pictureItems } from '../../../wall/takeaway/menu';
import type { Pictures } from '../../../wall/takeaway/pictures';
import { fileName, saveAs } from '../../../wall/takeaway/save';
import { toCsv, toJson } from '../../../wall/takeaway/table';
import type { MenuItem } from '../../../widgets/menu';
import type { CardCurves } from '../cards/curves.svelte';
import type { PrCurves } from '../pr-curves.svelte';
import { makeTable } from '../takeaway/table';

/** The menu of a card: what is seen of it, what is taken away. */
export function menuOf(
  { settings }: PrCurves,
  card: CardCurves,
  takePicture: () => Pictures | null,
  showPython: () => void,
): readonly (readonly MenuItem[])[] {
  const { zooms } = settings;
  const { id, title } = card.card;
  const save = (format: 'csv' | 'json'): MenuItem => ({
    label: `Download ${format.toUpperCase()}`,
    disabled: card.curves.length === 0,
    run() {
      const table = makeTable(card.curves);
      const [text, type] =
        format === 'csv' ? [toCsv(table), 'text/csv'] : [toJson(table), 'application/json'];
      saveAs(new Blob([text], { type }), `${fileName(title)}.${format}`);
    },
  });
  const fit: MenuItem = {
    label: 'Fit to data',
    icon: 'fit',
    disabled: card.zoom === null,
    run: () => zooms.set(withCard(zooms.value, id, null)),
  };
  const python: MenuItem = { label: 'Copy as Python …', run: showPython };
  return [[fit], [save('csv'), save('json'), ...pictureItems(takePicture, title), python]];
}

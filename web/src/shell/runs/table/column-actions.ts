import { order } from '../../../core/runs/order.svelte';
import { shownColumns } from '../../../core/runs/shown-columns.svelte';
import type { MenuItem } from '../../../widgets/menu';

export function actionsForColumn(key: string): MenuItem[][] {
  const { keys } = shownColumns;
  const place = keys.indexOf(key);
  return [
    [
      { label: 'Lowest first', run: () => order.sort({ key, descending: false }) },
      { label: 'Highest first', run: () => order.sort({ key, descending: true }) },
    ],
    [
      { label: 'Move left', disabled: place === 0, run: () => shownColumns.move(key, -1) },
      {
        label: 'Move right',
        disabled: place === keys.length - 1,
        run: () => shownColumns.move(key, 1),
      },
      { label: 'Remove', run: () => shownColumns.remove(key) },
    ],
  ];
}

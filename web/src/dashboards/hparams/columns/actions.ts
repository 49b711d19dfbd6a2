import type { MenuItem } from '../../../widgets/menu';
import { scalesOf } from '../model/axis';
import type { Column } from '../model/column';
import type { Study } from '../study.svelte';

const SCALES = {
  linear: 'Linear axis',
  log: 'Logarithmic axis',
  quantile: 'Quantile axis',
} as const;

/** What can be done with a column, in the table as on an axis. */
export function columnActions(study: Study, column: Column): MenuItem[][] {
  return [
    sorting(study, column),
    scaling(study, column),
    moving(study, column),
    [
      {
        label: 'Colour by it',
        checked: study.colouredBy === column,
        run: () => study.settings.colour.set(column.key),
      },
      {
        label: 'Clear its filter',
        disabled: !study.rules.has(column.key),
        run: () => study.rule(column.key, null),
      },
      { label: 'Hide', icon: 'close', run: () => study.showColumn(column.key, false) },
    ],
  ];
}

function sorting({ settings }: Study, { key }: Column): MenuItem[] {
  const { order } = settings;
  const others = order.value.filter((one) => one.key !== key);
  const by = (descending: boolean) => ({ key, descending });
  return [
    { label: 'Sort ascending', icon: 'up', run: () => order.set([by(false)]) },
    { label: 'Sort descending', icon: 'open', run: () => order.set([by(true)]) },
    {
      label: 'Then by this, ascending',
      hint: 'Shift+click',
      disabled: others.length === 0,
      run: () => order.set([...others, by(false)]),
    },
  ];
}

function scaling(study: Study, column: Column): MenuItem[] {
  const { scale } = study.axisOf(column);
  const scales = scalesOf(column);
  const choices = scales.length < 2 ? [] : scales;
  const isFlipped = study.settings.axes.value.get(column.key)?.flipped ?? false;
  return [
    ...choices.map((one) => ({
      label: SCALES[one],
      checked: one === scale,
      run: () => study.setScale(column.key, one),
    })),
    { label: 'Upside down', checked: isFlipped, run: () => study.flip(column.key) },
  ];
}

function moving(study: Study, { key }: Column): MenuItem[] {
  const { pinned } = study.settings;
  const keys = study.columns.map((column) => column.key);
  const at = keys.indexOf(key);
  const isPinned = pinned.value.includes(key);
  const others = pinned.value.filter((other) => other !== key);
  return [
    {
      label: 'Move left',
      disabled: at <= 0,
      run: () => study.move(key, keys[at - 1] ?? null),
    },
    {
      label: 'Move right',
      disabled: at < 0 || at >= keys.length - 1,
      run: () => study.move(key, keys[at + 2] ?? null),
    },
    {
      label: 'Pin to the left',
      checked: isPinned,
      run: () => pinned.set(isPinned ? others : [...others, key]),
    },
  ];
}

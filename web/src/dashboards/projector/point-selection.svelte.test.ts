import { expect, test } from 'vitest';

import { PointSelection } from './point-selection.svelte';
import { listRows, type RowMask } from './row-mask';

function createParam() {
  let value = $state('');
  return {
    get value() {
      return value;
    },
    set: (text: string) => (value = text),
  };
}

function createSelection(rowCount: number) {
  const params = {
    selectedRows: createParam(),
    isolatedRows: createParam(),
    hiddenRows: createParam(),
  };
  return { params, selection: new PointSelection(params as never, () => rowCount) };
}

const rowsOf = (mask: RowMask | null) => mask && [...listRows(mask)];

test('the selection is what the URL says', () => {
  const { params, selection } = createSelection(10);
  selection.select([3, 4, 5, 8]);
  expect(params.selectedRows.value).toBe('3-5,8');
  params.selectedRows.set('1,20');
  expect(rowsOf(selection.selected)).toEqual([1]);
  params.selectedRows.set('');
  expect(selection.selected).toBeNull();
});

test('isolates and hides the selected points', () => {
  const { selection } = createSelection(10);
  selection.select([1, 2, 3]);
  selection.isolate();
  expect([rowsOf(selection.isolated), selection.selected]).toEqual([[1, 2, 3], null]);
  selection.select([2]);
  selection.hide();
  selection.select([3]);
  selection.hide();
  expect(rowsOf(selection.hidden)).toEqual([2, 3]);
  selection.showAll();
  expect([selection.isolated, selection.hidden]).toEqual([null, null]);
});

test('a long selection is restored from a short parameter', () => {
  const { params, selection } = createSelection(5000);
  const even = Array.from({ length: 2500 }, (_, index) => 2 * index);
  selection.select(even);
  const text = params.selectedRows.value;
  expect(text).toMatch(/^~[0-9a-f]{16}$/);
  selection.select([0], 'toggle');
  expect([params.selectedRows.value === text, selection.selectedCount]).toEqual([false, 2499]);
  params.selectedRows.set(text);
  expect(selection.selectedCount).toBe(2500);
  params.selectedRows.set('~0000000000000000');
  expect(selection.selected).toBeNull();
});

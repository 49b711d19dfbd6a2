import { expect, test } from 'vitest';

import { columnOf } from './samples';
import { movedKeys, shownColumns } from './shown';

const NO_WISHES = { arranged: [], hidden: [], added: [] };

test('hyperparameters that differ come first, then metrics; the rest has to be asked for', () => {
  const columns = [
    columnOf('m', [1, 2], 'metric'),
    { ...columnOf('same', [1, 1]), differs: false },
    columnOf('lr', [1, 2]),
    columnOf('start', [1, 2], 'about'),
  ];
  const keys = (wishes: Partial<typeof NO_WISHES>): string[] =>
    shownColumns(columns, { ...NO_WISHES, ...wishes }, null).map(({ key }) => key);
  expect(keys({})).toEqual(['lr', 'm']);
  expect(keys({ added: ['start', 'same'] as never })).toEqual(['same', 'lr', 'm', 'start']);
  expect(keys({ arranged: ['m'] as never })).toEqual(['m', 'lr']);
  expect(keys({ hidden: ['lr'] as never })).toEqual(['m']);
});

test('what sessions are judged by is always seen', () => {
  const metrics = Array.from({ length: 9 }, (_, at) => columnOf(`m${at}`, [1, 2], 'metric'));
  const keys = shownColumns(metrics, NO_WISHES, 'm8').map(({ key }) => key);
  expect(keys).toEqual(['m0', 'm1', 'm2', 'm3', 'm4', 'm8']);
});

test('a key is put before another or at the end', () => {
  expect(movedKeys(['a', 'b', 'c'], 'c', 'a')).toEqual(['c', 'a', 'b']);
  expect(movedKeys(['a', 'b', 'c'], 'a', null)).toEqual(['b', 'c', 'a']);
  expect(movedKeys(['a', 'b', 'c'], 'a', 'c')).toEqual(['b', 'a', 'c']);
  expect(movedKeys(['a', 'b'], 'a', 'a')).toEqual(['a', 'b']);
});

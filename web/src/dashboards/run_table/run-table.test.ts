import { describe, expect, it, test } from 'vitest';

import type { ColumnListResponse } from '../../api/schemas';
import {
  completeFilter,
  type FilterFields,
  formatCell,
  getColumnDescription,
  getColumnTitle,
  listColumnOptions,
} from './run-columns';
import { listDashboards, makeConfigTree, splitColors, splitDiff } from './run-details';

describe('run details', () => {
  const getName = (name: string): string => name;

  describe('config tree', () => {
    it('nests names with slashes and dots', () => {
      const tree = makeConfigTree(
        [
          { name: 'lr', value: 0.1 },
          { name: 'optimizer/name', value: 'adam' },
          { name: 'optimizer/betas.first', value: 0.9 },
        ],
        getName,
      );
      expect(tree.map(({ label }) => label)).toEqual(['lr', 'optimizer']);
      const optimizer = tree[1];
      expect(optimizer?.value).toBeUndefined();
      expect(optimizer?.children.map(({ label, value }) => [label, value])).toEqual([
        ['name', 'adam'],
        ['betas', undefined],
      ]);
      expect(optimizer?.children[1]?.children[0]?.path).toBe('/optimizer/betas/first');
    });

    it('keeps a value that is also a prefix', () => {
      const config = [
        { name: 'model', value: 'vit' },
        { name: 'model/depth', value: 12 },
      ];
      const [node] = makeConfigTree(config, getName);
      expect(node?.value).toBe('vit');
      expect(node?.children).toHaveLength(1);
    });

    it('has display names, and the names for tooltips', () => {
      const titles: Record<string, string> = { 'optimizer/lr': 'Learning rate', depth: 'Layers' };
      const config = [
        { name: 'optimizer/lr', value: 0.1 },
        { name: 'depth', value: 3 },
      ];
      const [optimizer, depth] = makeConfigTree(config, (name) => titles[name] ?? name);
      expect([optimizer?.label, optimizer?.name]).toEqual(['optimizer', '']);
      expect(optimizer?.children.map(({ label, name }) => [label, name])).toEqual([
        ['Learning rate', 'optimizer/lr'],
      ]);
      expect([depth?.label, depth?.name]).toEqual(['Layers', 'depth']);
    });
  });

  describe('console colors', () => {
    it('splits at escape sequences', () => {
      expect(splitColors('\u001b[1;31mError\u001b[0m: no file')).toEqual([
        { text: 'Error', color: 1, bold: true },
        { text: ': no file', color: null, bold: false },
      ]);
    });

    it('ignores palettes, and does not take their numbers for colors', () => {
      expect(splitColors('\u001b[38;5;31mblue')).toEqual([
        { text: 'blue', color: null, bold: false },
      ]);
    });

    it('returns a plain line as one span', () => {
      expect(splitColors('epoch 1')).toEqual([{ text: 'epoch 1', color: null, bold: false }]);
      expect(splitColors('')).toEqual([]);
    });
  });

  it('tells added and removed lines of a diff from its headers', () => {
    const kinds = splitDiff('--- a\n+++ b\n@@ -1 +1 @@\n-lr = 1\n+lr = 2\n same').map(
      ({ kind }) => kind,
    );
    expect(kinds).toEqual(['position', 'position', 'position', 'removed', 'added', 'same']);
  });

  it('counts tags by dashboard', () => {
    const row = (tag: string, plugin: string, kind: string) => ({ tag, plugin, kind }) as never;
    const counts = listDashboards([
      row('loss', 'scalars', 'scalar'),
      row('custom', 'mine', 'scalar'),
      row('sample', 'images', 'image'),
      row('_hparams_/session_start_info', 'hparams', 'tensor'),
      row('other', 'unknown', 'tensor'),
    ]);
    expect([...counts]).toEqual([
      ['scalars', 2],
      ['images', 1],
      ['hparams', 1],
    ]);
  });
});

describe('run columns', () => {
  const AVAILABLE: ColumnListResponse = {
    hparams: [
      { name: 'lr', type: 'number', distinct: 2, low: 0, high: 1, values: [0, 1] },
      { name: 'depth', type: 'number', distinct: 1, low: 3, high: 3, values: [3] },
    ],
    metrics: ['val/acc', 'loss'],
    display_names: {
      'hparam:lr': 'Learning rate',
      'last:val/acc': 'Accuracy',
      'min:val/acc': 'Accuracy',
    },
  };

  test.each([
    ['hparam:lr', 'Learning rate'],
    ['hparam:depth', 'depth'],
    ['last:val/acc', 'Accuracy'],
    ['min:val/acc', 'min Accuracy'],
    ['max:loss', 'max loss'],
    ['at:2500:val/acc', 'Accuracy at step 2,500'],
    ['at:0:a:b', 'a:b at step 0'],
    ['last:at:1:x', 'at:1:x'],
    ['start', 'Start time'],
  ])('the title of %s is %s', (key, title) => {
    expect(getColumnTitle(key, AVAILABLE)).toBe(title);
  });

  test('tooltips have the name that filters use', () => {
    expect(getColumnDescription('hparam:lr', AVAILABLE)).toContain('lr');
    expect(getColumnDescription('min:val/acc', AVAILABLE)).toContain('val/acc');
    expect(getColumnDescription('at:10:val/acc', AVAILABLE)).toBe(
      'Last value of val/acc up to step 10',
    );
  });

  test('an empty text is not a missing value', () => {
    const format = (value: string | null): string =>
      formatCell('hparam:note', 'text', value, new Date()).text;
    expect([format(''), format(null), format('x')]).toEqual(['(empty)', '', 'x']);
  });

  test('columns are chosen by their display names', () => {
    const [, hparams, metrics] = listColumnOptions(AVAILABLE, 'max', (key) => key === 'max:loss');
    expect(hparams?.options.map(({ label }) => label)).toEqual(['Learning rate', 'depth']);
    expect(metrics?.options.map(({ key, label, selected }) => [key, label, selected])).toEqual([
      ['max:val/acc', 'Accuracy', false],
      ['max:loss', 'loss', true],
    ]);
  });
});

describe('filter completion', () => {
  const FIELDS: FilterFields = {
    plain: [
      { name: 'name', hint: '' },
      { name: 'state', hint: '' },
      { name: 'start', hint: '' },
    ],
    hparams: [
      { name: 'lr', type: 'number', distinct: 2, low: 0.1, high: 1, values: [0.1, 1] },
      {
        name: 'opt',
        type: 'string',
        distinct: 2,
        low: null,
        high: null,
        values: ['adam', 'big sgd'],
      },
      { name: 'a b', type: 'bool', distinct: 1, low: null, high: null, values: [true] },
    ],
    metrics: ['val/loss', 'train/loss'],
    displayNames: { 'hparam:opt': 'Optimizer', 'last:val/loss': 'Validation error' },
    labels: ['best'],
    states: ['running', 'finished'],
  };

  /** Return the texts that the first completions result in; `|` is the caret. */
  function complete(marked: string): string[] {
    const caret = marked.indexOf('|');
    const text = marked.replace('|', '');
    const { start, options } = completeFilter(text, caret, FIELDS);
    return options.map(({ insert }) => text.slice(0, start) + insert + text.slice(caret));
  }

  test.each([
    ['st|', ['state ', 'start ', 'step(', 'last(']],
    [
      'lr < 1 and o|',
      ['lr < 1 and opt ', 'lr < 1 and last("val/loss") ', 'lr < 1 and last("train/loss") '],
    ],
    ['state = |', ['state = running ', 'state = finished ']],
    ['state = fin|', ['state = finished ']],
    ['state in (running, f|)', ['state in (running, finished )']],
    ['opt = b|', ['opt = "big sgd" ']],
    ['tag:|', ['tag:best ']],
    ['last(|', ['last("val/loss") ', 'last("train/loss") ']],
    ['min("tr|', ['min("train/loss") ']],
    ['at("tr|', ['at("train/loss", ']],
    [
      'a|',
      [
        ...['config("a b") ', 'at(', 'name ', 'state ', 'start ', 'last(', 'max('],
        ...['last("val/loss") ', 'last("train/loss") '],
      ],
    ],
    ['val|', ['last("val/loss") ']],
    ['Optimiz|', ['opt ']],
    ['error|', ['last("val/loss") ']],
    ['last(valid|', ['last("val/loss") ']],
    ['lr < |', ['lr < 0.1 ', 'lr < 1 ']],
  ])('%s', (marked, expected) => {
    expect(complete(marked)).toEqual(expected);
  });

  test('nothing is offered for a complete word', () => {
    expect(complete('state = running|')).toEqual([]);
  });
});

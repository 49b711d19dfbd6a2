import { describe, expect, it } from 'vitest';

import { listDashboards, makeConfigTree, splitColors, splitDiff } from './run-details';

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

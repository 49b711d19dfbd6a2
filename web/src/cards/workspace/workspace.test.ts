import { describe, expect, test } from 'vitest';

import {
  addCard,
  addSection,
  type BoardDocument,
  changeCard,
  changeSection,
  createCard,
  createDocument,
  listCards,
  mergeDocuments,
  moveCard,
  readCardSettings,
  removeCards,
  setKindSetting,
} from './document';

describe('merge', () => {
  const [loss, acc, lr] = ['loss', 'acc', 'lr'].map((target) => ({
    ...createCard({ kind: 'scalars', target }),
    id: target,
  })) as [
    ReturnType<typeof createCard>,
    ReturnType<typeof createCard>,
    ReturnType<typeof createCard>,
  ];

  function makeBase(): BoardDocument {
    return [loss, acc, lr].reduce(
      (document, card) => addCard(document, card),
      createDocument('workspace', 'Board'),
    );
  }

  const ids = (document: BoardDocument | null): string[] =>
    document ? listCards(document).map(({ id }) => id) : [];

  test('changes of different cards are merged', () => {
    const base = makeBase();
    const mine = changeCard(base, 'loss', { height: 500 });
    const theirs = changeCard(base, 'acc', { title: 'Accuracy' });
    const merged = mergeDocuments(base, mine, theirs);
    expect(merged && listCards(merged).map(({ height, title }) => [height, title])).toEqual([
      [500, ''],
      [280, 'Accuracy'],
      [280, ''],
    ]);
  });

  test('cards that both users added are kept', () => {
    const base = makeBase();
    const mine = addCard(base, { ...loss, id: 'mine' });
    const theirs = addCard(base, { ...loss, id: 'theirs' });
    expect(ids(mergeDocuments(base, mine, theirs)).sort()).toEqual(
      ['acc', 'loss', 'lr', 'mine', 'theirs'].sort(),
    );
  });

  test('my order wins where I moved cards, and cards of the other stay', () => {
    const base = makeBase();
    const section = base.sections[0]?.id ?? '';
    const mine = moveCard(base, 'lr', section, 'loss');
    const theirs = addCard(base, { ...loss, id: 'new' });
    expect(ids(mergeDocuments(base, mine, theirs))).toEqual(['lr', 'new', 'loss', 'acc']);
  });

  test('removing a card that the other did not change is merged', () => {
    const base = makeBase();
    const mine = removeCards(base, new Set(['acc']));
    const theirs = changeCard(base, 'loss', { columns: 12 });
    expect(ids(mergeDocuments(base, mine, theirs))).toEqual(['loss', 'lr']);
  });

  test.each([
    [
      'one card in two ways',
      (base: BoardDocument) => changeCard(base, 'loss', { height: 400 }),
      (base: BoardDocument) => changeCard(base, 'loss', { height: 600 }),
    ],
    [
      'a card that the other removed',
      (base: BoardDocument) => changeCard(base, 'loss', { height: 400 }),
      (base: BoardDocument) => removeCards(base, new Set(['loss'])),
    ],
    [
      'the name',
      (base: BoardDocument) => ({ ...base, name: 'Mine' }),
      (base: BoardDocument) => ({ ...base, name: 'Theirs' }),
    ],
  ])('there is a conflict if both changed %s', (_, change, otherChange) => {
    const base = makeBase();
    expect(mergeDocuments(base, change(base), otherChange(base))).toBeNull();
  });

  test('a card that both moved to different sections is a conflict', () => {
    const base = addSection(addSection(makeBase(), 'A'), 'B');
    const [, a, b] = base.sections.map(({ id }) => id);
    const mine = moveCard(base, 'loss', a ?? '', null);
    const theirs = moveCard(base, 'loss', b ?? '', null);
    expect(mergeDocuments(base, mine, theirs)).toBeNull();
  });

  test('the same change of both users is no conflict', () => {
    const base = makeBase();
    const mine = changeCard(base, 'loss', { height: 400 });
    const theirs = changeCard(base, 'loss', { height: 400 });
    expect(mergeDocuments(base, mine, theirs)).toEqual(theirs);
  });

  test('a section title and a card in it are merged', () => {
    const base = makeBase();
    const section = base.sections[0]?.id ?? '';
    const mine = changeSection(base, section, { title: 'Quality', collapsed: true });
    const theirs = changeCard(base, 'loss', { height: 400 });
    const merged = mergeDocuments(base, mine, theirs);
    expect(merged?.sections[0]).toMatchObject({ title: 'Quality', collapsed: true });
    expect(merged?.sections[0]?.cards[0]?.height).toBe(400);
  });

  test('a setting of a kind applies to cards that had their own', () => {
    const base = changeCard(makeBase(), 'loss', { settings: { smoothing: '0.9', x: 'wall' } });
    const changed = setKindSetting(base, 'scalars', 'smoothing', '0.5');
    expect(changed.settings).toEqual({ scalars: { smoothing: '0.5' } });
    expect(listCards(changed)[0]?.settings).toEqual({ x: 'wall' });
  });
});

describe('card settings', () => {
  const read = (query: string, target = 'loss') =>
    readCardSettings(new URLSearchParams(query), target);

  test('settings of the dashboard are kept, those of the page are not', () => {
    expect(read('tab=scalars&selected=none&smoothing=0.9&x=wall&pinned=loss')).toEqual({
      smoothing: '0.9',
      x: 'wall',
    });
  });

  test('the step of all cards becomes the step of the card', () => {
    expect(read('tab=images&step=20', 'samples,first')).toEqual({ steps: 'samples\\,first,20' });
    expect(read('tab=images&step=20&sync-steps=0&steps=loss,5')).toEqual({ steps: 'loss,5' });
  });
});

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import { ServerError } from '../../api/errors';
import {
  addCard,
  type BoardDocument,
  changeCard,
  createCard,
  createDocument,
  createSection,
  type DocumentResponse,
  listCards,
} from '../../cards/workspace/document';
import { GAP_PX, HEADING_PX, layoutBoard, toColumns } from './board-layout';
import { type DocumentRequests, DocumentSync } from './document-sync.svelte';

describe('document sync', () => {
  /** A server that stores one document and refuses changes of old revisions. */
  class FakeServer implements DocumentRequests {
    document: BoardDocument;
    revision = 1;
    saves = 0;
    status: number | null = null;

    constructor(document: BoardDocument) {
      this.document = document;
    }

    get(): Promise<DocumentResponse> {
      const { document, revision } = this;
      const html = { html: '<em>a</em>', text: null, card: null, note: null };
      return Promise.resolve({
        document,
        revision,
        modified: 0,
        blocks: [],
        notes: { note: [html] },
      });
    }

    save(document: BoardDocument, expected: number): Promise<DocumentResponse> {
      this.saves++;
      const status = this.status ?? (expected === this.revision ? null : 409);
      if (status !== null)
        return Promise.reject(new ServerError({ message: 'refused', hint: '' }, status));
      this.document = document;
      this.revision++;
      return this.get();
    }
  }

  const loss = { ...createCard({ kind: 'scalars', target: 'loss' }), id: 'loss' };
  let server: FakeServer;
  let sync: DocumentSync;

  beforeEach(async () => {
    vi.useFakeTimers();
    server = new FakeServer(addCard(createDocument('workspace', 'Board'), loss));
    sync = new DocumentSync(server.document.id, server);
    await sync.load();
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  const settle = (): Promise<unknown> => vi.advanceTimersByTimeAsync(5000);
  const setHeight = (height: number) => (document: BoardDocument) =>
    changeCard(document, 'loss', { height });
  const heightOf = (document: BoardDocument | null): number | undefined =>
    document ? listCards(document)[0]?.height : undefined;

  test('changes are saved together after a moment', async () => {
    sync.edit(setHeight(300), 'height');
    sync.edit(setHeight(320), 'height');
    expect([server.saves, sync.hasChanges]).toEqual([0, true]);
    await settle();
    expect([server.saves, sync.hasChanges, heightOf(server.document)]).toEqual([1, false, 320]);
  });

  test('undo and redo restore the document and are saved', async () => {
    sync.edit(setHeight(300));
    sync.edit(setHeight(400));
    sync.undo();
    expect(heightOf(sync.document)).toBe(300);
    sync.undo();
    expect([heightOf(sync.document), sync.canUndo]).toEqual([280, false]);
    sync.redo();
    await settle();
    expect(heightOf(server.document)).toBe(300);
  });

  test('quick changes with the same key are one step of undo', () => {
    for (const height of [300, 310, 320]) sync.edit(setHeight(height), 'height');
    sync.undo();
    expect(heightOf(sync.document)).toBe(280);
  });

  test('changes of others are merged', async () => {
    const other = { ...loss, id: 'other' };
    server.document = addCard(server.document, other);
    server.revision++;
    sync.edit(setHeight(300));
    await settle();
    expect(sync.conflict).toBeNull();
    expect(listCards(server.document).map(({ id, height }) => [id, height])).toEqual([
      ['loss', 300],
      ['other', 280],
    ]);
  });

  test('a later revision is loaded, but not while changes are being saved', async () => {
    server.document = addCard(server.document, { ...loss, id: 'other' });
    sync.catchUp(server.revision);
    await settle();
    expect(listCards(sync.document as BoardDocument)).toHaveLength(1);
    server.revision++;
    sync.edit(setHeight(300));
    const saved = sync.save();
    sync.catchUp(server.revision);
    await saved;
    sync.catchUp(server.revision);
    await settle();
    expect(listCards(sync.document as BoardDocument).map(({ id }) => id)).toEqual([
      'loss',
      'other',
    ]);
    expect([server.saves, heightOf(server.document)]).toEqual([2, 300]);
  });

  test('rendered texts of cards are found by their Markdown', async () => {
    server.document = addCard(server.document, {
      ...createCard({ kind: 'note', target: '*a*' }),
      id: 'note',
    });
    server.revision++;
    await sync.load();
    expect(sync.notes.get('*a*')?.[0]?.html).toBe('<em>a</em>');
    expect(sync.notes.get('*b*')).toBeUndefined();
  });

  test('undo keeps what others changed meanwhile', async () => {
    sync.edit(setHeight(300));
    await settle();
    server.document = addCard(server.document, { ...loss, id: 'other' });
    server.revision++;
    await sync.load();
    sync.undo();
    await settle();
    expect(listCards(server.document).map(({ id, height }) => [id, height])).toEqual([
      ['loss', 280],
      ['other', 280],
    ]);
  });

  test.each([
    ['mine', 300],
    ['theirs', 500],
  ])('a conflict waits for a decision: %s', async (choice, expected) => {
    server.document = setHeight(500)(server.document);
    server.revision++;
    sync.edit(setHeight(300));
    await settle();
    expect(heightOf(sync.conflict?.theirs ?? null)).toBe(500);
    expect([heightOf(sync.document), heightOf(server.document)]).toEqual([300, 500]);
    if (choice === 'mine') sync.keepMine();
    else sync.useTheirs();
    await settle();
    expect([heightOf(sync.document), heightOf(server.document)]).toEqual([expected, expected]);
    sync.undo();
    if (choice === 'theirs') expect(heightOf(sync.document)).toBe(300);
  });

  test('a read-only server keeps the stored document', async () => {
    server.status = 403;
    sync.edit(setHeight(300));
    await settle();
    expect([sync.isForbidden, heightOf(sync.document)]).toEqual([true, 280]);
    sync.edit(setHeight(300));
    expect(heightOf(sync.document)).toBe(280);
  });

  test('after a failure, nothing is lost and retry saves it', async () => {
    server.status = 500;
    sync.edit(setHeight(300));
    await settle();
    expect([sync.error?.message, heightOf(sync.document)]).toEqual(['refused', 300]);
    server.status = null;
    sync.retry();
    await settle();
    expect(heightOf(server.document)).toBe(300);
  });
});

describe('board layout', () => {
  const card = (columns: number, height = 100) => createCard({ kind: 'scalars', columns, height });

  test('cards fill rows of twelve columns', () => {
    const section = { ...createSection('A'), cards: [card(4), card(8, 300), card(6), card(12)] };
    const { cards } = layoutBoard([section], 1192);
    const rows = [HEADING_PX, HEADING_PX + 300 + GAP_PX, HEADING_PX + 400 + 2 * GAP_PX];
    expect(cards.map(({ x, y, width }) => [x, y, width])).toEqual([
      [0, rows[0], 392],
      [400, rows[0], 792],
      [0, rows[1], 592],
      [0, rows[2], 1192],
    ]);
  });

  test('narrow boards have one card per row', () => {
    const section = { ...createSection('A'), cards: [card(4), card(4)] };
    const { cards } = layoutBoard([section], 374);
    expect(cards.map(({ x, width }) => [x, width])).toEqual([
      [0, 374],
      [0, 374],
    ]);
  });

  test('collapsed sections have only a heading', () => {
    const one = { ...createSection('A'), collapsed: true, cards: [card(4)] };
    const { cards, sections } = layoutBoard([one, createSection('B')], 1000);
    expect([cards.length, sections[1]?.y]).toEqual([0, HEADING_PX]);
  });

  test('a card that is resized pushes the others', () => {
    const [first, second] = [card(6), card(6)];
    const section = { ...createSection('A'), cards: [first, second] };
    const resized = new Map([[first.id, { columns: 12, height: 200 }]]);
    const { cards } = layoutBoard([section], 1000, resized);
    expect(cards[1]?.y).toBe(HEADING_PX + 200 + GAP_PX);
  });

  test('a width is rounded to columns', () => {
    expect(toColumns(392, 1192)).toBe(4);
    expect(toColumns(450, 1192)).toBe(5);
    expect(toColumns(5, 1192)).toBe(2);
    expect(toColumns(5000, 1192)).toBe(12);
  });
});

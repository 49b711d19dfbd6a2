import { describe, expect, test } from 'vitest';

import {
  type Card,
  CARD_GAP_PX,
  listItemsInViewport,
  layoutGrid,
  SECTION_HEADING_PX,
} from './card-sections';
import { cardSetCodec, hasCard, NO_CARDS, toggleCard, withCardValue } from './card-grid.svelte';
import { indexAtStep, mergeSteps, runSteps, makeValuePath } from './steps/step-selection.svelte';

describe('grid layout', () => {
  const MEASURES = {
    width: 1000,
    cardWidth: 300,
    heightOf: (_: number, __: Card | null, isWide: boolean): number => (isWide ? 400 : 200),
  };

  const card = (id: string): Card => ({ id, title: id, description: '' });
  const section = (title: string, ...ids: string[]) => ({
    title,
    key: title,
    cards: ids.map(card),
  });

  test('cards of a row share its width', () => {
    const { cards, height } = layoutGrid([section('s', 'a', 'b', 'c', 'd')], [], [], MEASURES);
    const width = (1000 - 2 * CARD_GAP_PX) / 3;
    expect(cards.map(({ x, y }) => [x, y])).toEqual([
      [0, SECTION_HEADING_PX],
      [width + CARD_GAP_PX, SECTION_HEADING_PX],
      [2 * (width + CARD_GAP_PX), SECTION_HEADING_PX],
      [0, SECTION_HEADING_PX + 200 + CARD_GAP_PX],
    ]);
    expect(cards[0]?.width).toBe(width);
    expect(height).toBe(SECTION_HEADING_PX + 2 * (200 + CARD_GAP_PX));
  });

  test('a collapsed section has only its heading', () => {
    const { cards, sections, height } = layoutGrid(
      [section('one', 'a'), section('two', 'b')],
      ['one'],
      [],
      MEASURES,
    );
    expect(cards.map(({ card }) => card.id)).toEqual(['b']);
    expect(sections.map(({ y }) => y)).toEqual([0, SECTION_HEADING_PX]);
    expect(height).toBe(2 * SECTION_HEADING_PX + 200 + CARD_GAP_PX);
  });

  test('a wide card has a row of its own', () => {
    const { cards } = layoutGrid([section('s', 'a', 'b', 'c')], [], ['b'], MEASURES);
    expect(cards.map(({ x, y, width }) => [x, y, Math.round(width)])).toEqual([
      [0, SECTION_HEADING_PX, 325],
      [0, SECTION_HEADING_PX + 200 + CARD_GAP_PX, 1000],
      [0, SECTION_HEADING_PX + 200 + 2 * CARD_GAP_PX + 400, 325],
    ]);
  });

  test('a row is as high as its tallest card', () => {
    const heightOf = (_: number, card: Card | null): number => (card?.id === 'b' ? 350 : 200);
    const sections = [section('s', 'a', 'b', 'c', 'd')];
    const { cards, tallest } = layoutGrid(sections, [], [], { ...MEASURES, heightOf });
    expect(cards.map(({ height }) => height)).toEqual([350, 350, 350, 200]);
    expect(cards[3]?.y).toBe(SECTION_HEADING_PX + 350 + CARD_GAP_PX);
    expect(tallest).toBe(350);
  });

  test('a narrow page has one column', () => {
    const { cards } = layoutGrid([section('s', 'a', 'b')], [], [], { ...MEASURES, width: 280 });
    expect(cards.map(({ x, width }) => [x, width])).toEqual([
      [0, 280],
      [0, 280],
    ]);
  });

  test('items in the viewport are found among many', () => {
    const ids = Array.from({ length: 12_345 }, (_, at) => String(at));
    const { cards, height } = layoutGrid([section('s', ...ids)], [], [], MEASURES);
    const found = listItemsInViewport(cards, height / 2, height / 2 + 600, 400);
    expect(found.length).toBeGreaterThan(8);
    expect(found.length).toBeLessThan(16);
    for (const { y, height: tall } of found) expect(y + tall).toBeGreaterThan(height / 2);
  });
});

describe('grid settings', () => {
  test('null removes a card', () => {
    expect(
      withCardValue(
        new Map([
          ['a', 1],
          ['b', 2],
        ]),
        'a',
        null,
      ),
    ).toEqual(new Map([['b', 2]]));
  });

  test('a card set lists cards, or all cards with exceptions', () => {
    const some = toggleCard(toggleCard(NO_CARDS, 'a'), 'b,c');
    expect(cardSetCodec.format(some)).toBe('a,b\\,c');
    expect(hasCard(cardSetCodec.parse('a,b\\,c'), 'b,c')).toBe(true);
    const most = toggleCard({ all: true, named: [] }, 'a');
    expect(cardSetCodec.format(most)).toBe('*,a');
    expect([hasCard(most, 'a'), hasCard(most, 'b')]).toEqual([false, true]);
  });
});

describe('step series', () => {
  const series = (...steps: number[]) =>
    runSteps({
      run: 'a',
      tag: 'picture',
      index: Int32Array.from(steps.keys()),
      step: Float64Array.from(steps),
      wall_time: Float64Array.from(steps, (step) => 1000 + step),
      fingerprint: Int32Array.from(steps, (step) => 7 * step),
    });

  test('the value at a step is the last one at or before it', () => {
    const steps = series(0, 10, 20);
    expect([0, 9, 10, 25, null].map((step) => indexAtStep(steps, step))).toEqual([0, 0, 1, 2, 2]);
  });

  test('there is no value before the first step', () => {
    expect(indexAtStep(series(5), 4)).toBe(-1);
    expect(indexAtStep(series(), null)).toBe(-1);
  });

  test('the later value of a step that was logged twice wins', () => {
    expect(indexAtStep(series(0, 5, 5, 9), 5)).toBe(2);
  });

  test('steps of several workers are sorted', () => {
    const { step, index, wallTime, fingerprint } = series(5, 1, 3);
    expect([...step]).toEqual([1, 3, 5]);
    expect([...index]).toEqual([1, 2, 0]);
    expect([...wallTime]).toEqual([1001, 1003, 1005]);
    expect([...fingerprint]).toEqual([7, 21, 35]);
  });

  test('steps of several series are merged without duplicates', () => {
    expect([...mergeSteps([series(0, 10, 20), series(10, 10, 15), series()])]).toEqual([
      0, 10, 15, 20,
    ]);
  });
});

describe('value paths', () => {
  const STEPS = {
    run: 'a/b c',
    tag: "grid?&é'(1)",
    index: Int32Array.of(3, 8),
    step: Float64Array.of(0, 10),
    wallTime: Float64Array.of(0, 1),
    fingerprint: Int32Array.of(11, 12),
  };

  test('the path of a value is that of the server', () => {
    expect(makeValuePath('thumbnail', STEPS, 1, { part: 0, size: 256 })).toBe(
      "thumbnail?run=a%2Fb%20c&tag=grid%3F%26%C3%A9'(1)&index=8&fingerprint=12&part=0&size=256",
    );
  });
});

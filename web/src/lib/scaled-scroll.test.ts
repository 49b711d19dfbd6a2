import { describe, expect, it } from 'vitest';

import {
  clampListTop,
  getScrollHeight,
  MAX_SCROLL_HEIGHT_PX,
  toListTop,
  toScrollTop,
} from './scaled-scroll';

describe('scaled scrolling', () => {
  const short = { listHeight: 26_000, viewHeight: 400 };
  const tall = { listHeight: 5_000_000 * 26, viewHeight: 400 };

  it('does not scale lists that fit', () => {
    expect(getScrollHeight(short)).toBe(26_000);
    expect(toListTop(short, 1234)).toBe(1234);
    expect(toScrollTop(short, 1234)).toBe(1234);
  });

  it('reaches both ends of a tall list', () => {
    expect(getScrollHeight(tall)).toBe(MAX_SCROLL_HEIGHT_PX);
    expect(toListTop(tall, 0)).toBe(0);
    expect(toListTop(tall, MAX_SCROLL_HEIGHT_PX - 400)).toBe(tall.listHeight - 400);
  });

  it('converts back and forth', () => {
    expect(toListTop(tall, toScrollTop(tall, 77_777_777))).toBeCloseTo(77_777_777, 3);
  });

  it('stays within the list', () => {
    expect(clampListTop(tall, -5)).toBe(0);
    expect(clampListTop({ listHeight: 100, viewHeight: 400 }, 50)).toBe(0);
  });
});

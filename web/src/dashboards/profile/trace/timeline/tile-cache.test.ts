import { describe, expect, it } from 'vitest';

import type { Tiles } from '../../schemas';
import {
  findFirstEndingAfter,
  getTileLevel,
  getTileNumbers,
  TileCache,
  type TileRange,
} from './tile-cache';

/** Each part has one event in its second lane that fills the tile. */
function makeTiles({ level, first, last, tracks }: TileRange): Tiles {
  const size = 2 ** (level + 10);
  const count = (last - first + 1) * tracks.length;
  const each = <Value>(make: (at: number) => Value): Value[] =>
    Array.from({ length: count }, (_, at) => make(at));
  return {
    ends: Int32Array.from(each((at) => at + 1)),
    lane: new Uint8Array(count).fill(1),
    start: Float64Array.from(each((at) => (first + Math.floor(at / tracks.length)) * size)),
    duration: new Float64Array(count).fill(size),
    event: Int32Array.from(each((at) => at)),
    count: new Int32Array(count).fill(1),
    name: new Int32Array(count),
    hue: new Uint8Array(count),
    busy: new Uint8Array(count).fill(255),
    words: { ids: Int32Array.of(0), texts: ['conv'] },
  };
}

async function settled(): Promise<void> {
  for (let at = 0; at < 20; at++) await Promise.resolve();
}

describe('tiles', () => {
  it('are of the level whose cells are no wider than a pixel', () => {
    expect([0.1, 1, 1023, 1024, 1e30].map(getTileLevel)).toEqual([0, 0, 9, 10, 50]);
    expect(getTileNumbers(0, { start: -1, end: 1024 })).toEqual([-1, 1]);
  });

  it('are asked for once, and only what is missing', async () => {
    const asks: TileRange[] = [];
    const store = new TileCache(
      (ask) => (asks.push(ask), Promise.resolve(makeTiles(ask))),
      () => undefined,
    );
    store.setWanted([{ level: 4, first: 0, last: 1, tracks: [3] }]);
    await settled();
    store.setWanted([{ level: 4, first: 0, last: 2, tracks: [3, 5] }]);
    await settled();
    store.setWanted([{ level: 4, first: 0, last: 2, tracks: [3, 5] }]);
    await settled();
    expect(asks).toEqual([
      { level: 4, first: 0, last: 1, tracks: [3] },
      { level: 4, first: 0, last: 2, tracks: [5] },
      { level: 4, first: 2, last: 2, tracks: [3] },
    ]);
    expect(store.isComplete).toBe(true);
    expect(store.names.get(0)).toBe('conv');
  });

  it('stand in for finer ones that have not come yet', async () => {
    const store = new TileCache(
      (ask) => Promise.resolve(makeTiles(ask)),
      () => undefined,
    );
    store.setWanted([{ level: 10, first: 0, last: 0, tracks: [1] }]);
    await settled();
    const [part] = store.getTiles(3, { start: 5, end: 5000 }, 1);
    if (!part) throw new Error('the coarse one is there');
    expect([...part.lanes]).toEqual([0, 0, 1]);
    expect(findFirstEndingAfter(part, 0, 1, 2 ** 20 - 1)).toBe(0);
    expect(findFirstEndingAfter(part, 0, 1, 2 ** 20)).toBe(1);
    expect(store.getTiles(3, { start: 5, end: 5000 }, 2)).toEqual([]);
  });

  it('of a copy are all there are, at whatever level one looks', () => {
    const store = new TileCache(
      () => Promise.reject(new Error('nobody there')),
      () => undefined,
    );
    const carried = { level: 6, first: 0, last: 1, tracks: [1] };
    store.fill(carried, makeTiles(carried));
    store.setWanted([{ level: 2, first: 0, last: 0, tracks: [1] }]);
    expect(store.getTiles(2, { start: 0, end: 10 }, 1)).toHaveLength(1);
    expect(store.getTiles(9, { start: 0, end: 1e5 }, 1)).toHaveLength(2);
    expect(store.getTiles(9, { start: -1e5, end: 3e5 }, 1)).toHaveLength(2);
    expect(store.isComplete).toBe(true);
    expect(store.error).toBeNull();
  });

  it('that cannot be had are told of, and asked for again when somebody says so', async () => {
    let fails = true;
    const store = new TileCache(
      (ask) => (fails ? Promise.reject(new Error('gone')) : Promise.resolve(makeTiles(ask))),
      () => undefined,
    );
    const wanted = [{ level: 0, first: 0, last: 0, tracks: [1] }];
    store.setWanted(wanted);
    await settled();
    expect(store.error).toBeInstanceOf(Error);
    fails = false;
    store.setWanted(wanted);
    await settled();
    expect(store.getTiles(0, { start: 0, end: 10 }, 1)).toEqual([]);
    store.retry();
    await settled();
    expect(store.error).toBeNull();
    expect(store.getTiles(0, { start: 0, end: 10 }, 1)).toHaveLength(1);
  });
});

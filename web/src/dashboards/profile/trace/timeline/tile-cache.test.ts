import { describe, expect, it } from 'vitest';

import { IDLE, type QueryState } from '../../../../api/query-definition';
import { NetworkError } from '../../../../api/errors';
import { settle } from '../../../../api/query-test-tools';
import type { Tiles } from '../../../../api/schemas';
import {
  findFirstEndingAfter,
  getTileLevel,
  getTileNumbers,
  TileCache,
  type TileObserver,
  type TileRequest,
} from './tile-cache';

/** Make tiles with one event in the second lane that fills the tile. */
function makeTiles({ level, first, last, tracks }: TileRequest): Tiles {
  const size = 2 ** (level + 10);
  const count = (last - first + 1) * tracks.length;
  const each = <Value>(make: (index: number) => Value): Value[] =>
    Array.from({ length: count }, (_, index) => make(index));
  return {
    ends: Int32Array.from(each((index) => index + 1)),
    lane: new Uint8Array(count).fill(1),
    start: Float64Array.from(each((index) => (first + Math.floor(index / tracks.length)) * size)),
    duration: new Float64Array(count).fill(size),
    event: Int32Array.from(each((index) => index)),
    count: new Int32Array(count).fill(1),
    name: new Int32Array(count),
    hue: new Uint8Array(count),
    busy: new Uint8Array(count).fill(255),
    names: { ids: Int32Array.of(0), texts: ['conv'] },
  };
}

/** A query that responds to each request; `fail` makes it fail. */
class FakeQuery {
  readonly requests: TileRequest[] = [];
  fails = false;

  observe = (listener: (state: QueryState<Tiles>) => void): TileObserver => {
    let current: TileRequest | null = null;
    const respond = (): void => {
      if (!current) return;
      const state = this.fails
        ? { status: 'error' as const, error: new NetworkError() }
        : { status: 'ready' as const, data: makeTiles(current) };
      void Promise.resolve().then(() => listener({ ...IDLE, ...state }));
    };
    return {
      setRequest: (request) => {
        this.requests.push(request);
        current = request;
        respond();
      },
      retry: respond,
      dispose: () => (current = null),
    };
  };
}

function openCache(): { readonly query: FakeQuery; readonly cache: TileCache } {
  const query = new FakeQuery();
  return { query, cache: new TileCache(query.observe, () => undefined) };
}

describe('tiles', () => {
  it('are of the level whose cells are no wider than a pixel', () => {
    expect([0.1, 1, 1023, 1024, 1e30].map(getTileLevel)).toEqual([0, 0, 9, 10, 50]);
    expect(getTileNumbers(0, { start: -1, end: 1024 })).toEqual([-1, 1]);
  });

  it('are requested once, and only if they are missing', async () => {
    const { query, cache } = openCache();
    cache.setWanted([{ level: 4, first: 0, last: 1, tracks: [3] }]);
    await settle();
    cache.setWanted([{ level: 4, first: 0, last: 2, tracks: [3, 5] }]);
    await settle();
    cache.setWanted([{ level: 4, first: 0, last: 2, tracks: [3, 5] }]);
    await settle();
    expect(query.requests).toEqual([
      { level: 4, first: 0, last: 1, tracks: [3] },
      { level: 4, first: 0, last: 2, tracks: [5] },
      { level: 4, first: 2, last: 2, tracks: [3] },
    ]);
    expect(cache.isComplete).toBe(true);
    expect(cache.names.get(0)).toBe('conv');
  });

  it('are replaced by coarser ones until they arrive', async () => {
    const { cache } = openCache();
    cache.setWanted([{ level: 10, first: 0, last: 0, tracks: [1] }]);
    await settle();
    const [tile] = cache.getTiles(3, { start: 5, end: 5000 }, 1);
    if (!tile) throw new Error('the coarse tile is missing');
    expect([...tile.lanes]).toEqual([0, 0, 1]);
    expect(findFirstEndingAfter(tile, 0, 1, 2 ** 20 - 1)).toBe(0);
    expect(findFirstEndingAfter(tile, 0, 1, 2 ** 20)).toBe(1);
    expect(cache.getTiles(3, { start: 5, end: 5000 }, 2)).toEqual([]);
  });

  it('of a static export are used at every level', async () => {
    const { query, cache } = openCache();
    cache.fetchExported({ level: 6, first: 0, last: 1, tracks: [1] });
    cache.setWanted([{ level: 2, first: 0, last: 0, tracks: [1] }]);
    await settle();
    expect(cache.getTiles(2, { start: 0, end: 10 }, 1)).toHaveLength(1);
    expect(cache.getTiles(9, { start: 0, end: 1e5 }, 1)).toHaveLength(2);
    expect(cache.getTiles(9, { start: -1e5, end: 3e5 }, 1)).toHaveLength(2);
    expect(cache.isComplete).toBe(true);
    expect(query.requests).toHaveLength(1);
  });

  it('can be requested again after an error', async () => {
    const { query, cache } = openCache();
    query.fails = true;
    cache.setWanted([{ level: 0, first: 0, last: 0, tracks: [1] }]);
    await settle();
    expect(cache.error?.message).toBe('Server unreachable');
    expect(cache.getTiles(0, { start: 0, end: 10 }, 1)).toEqual([]);
    query.fails = false;
    cache.retry();
    await settle();
    expect(cache.error).toBeNull();
    expect(cache.getTiles(0, { start: 0, end: 10 }, 1)).toHaveLength(1);
  });
});

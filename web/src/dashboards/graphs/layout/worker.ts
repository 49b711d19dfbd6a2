import { layOutNest } from './nest';
import type { Direction, Interior, Placed } from './nesting';

/** Lays out beside the page, which goes on answering meanwhile. */
export interface Order {
  readonly number: number;
  readonly root: Interior;
  readonly direction: Direction;
}

export interface Delivery {
  readonly number: number;
  readonly placed: Placed;
}

addEventListener('message', ({ data }: MessageEvent<Order>) => {
  const placed = layOutNest(data.root, data.direction);
  postMessage({ number: data.number, placed } satisfies Delivery);
});

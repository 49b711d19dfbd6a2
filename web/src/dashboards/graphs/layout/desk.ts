import { layOutNest } from './nest';
import type { Direction, Interior, Placed } from './nesting';
import type { Delivery, Order } from './worker';

/** Where pictures are ordered; only the last order is delivered. */
export interface Desk {
  layOut(root: Interior, direction: Direction): Promise<Placed | null>;
  close(): void;
}

/** A page that was opened as a file may not have workers, and lays out by itself. */
export function openDesk(isStatic: boolean): Desk {
  return isStatic
    ? { layOut: async (root, direction) => layOutNest(root, direction), close: () => undefined }
    : new WorkerDesk();
}

class WorkerDesk implements Desk {
  readonly #worker = new Worker(new URL('./worker.ts', import.meta.url), { type: 'module' });
  #number = 0;
  #deliver: ((placed: Placed | null) => void) | null = null;

  constructor() {
    this.#worker.addEventListener('message', ({ data }: MessageEvent<Delivery>) => {
      if (data.number === this.#number) this.#hand(data.placed);
    });
  }

  layOut(root: Interior, direction: Direction): Promise<Placed | null> {
    this.#hand(null);
    const order: Order = { number: ++this.#number, root, direction };
    this.#worker.postMessage(order);
    return new Promise((resolve) => (this.#deliver = resolve));
  }

  close(): void {
    this.#hand(null);
    this.#worker.terminate();
  }

  #hand(placed: Placed | null): void {
    this.#deliver?.(placed);
    this.#deliver = null;
  }
}

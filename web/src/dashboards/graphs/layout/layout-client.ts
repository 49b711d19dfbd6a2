import { layoutNestedGraph } from './nested-layout';
import type { Direction, NestedGraph, NestedLayout } from './layout-types';
import type { LayoutWorkerResponse, LayoutWorkerRequest } from './layout-worker';

/** Where pictures are ordered; only the last order is delivered. */
export interface LayoutClient {
  layout(root: NestedGraph, direction: Direction): Promise<NestedLayout | null>;
  close(): void;
}

/** A page that was opened as a file may not have workers, and lays out by itself. */
export function createLayoutClient(isStatic: boolean): LayoutClient {
  return isStatic
    ? {
        layout: async (root, direction) => layoutNestedGraph(root, direction),
        close: () => undefined,
      }
    : new WorkerLayoutClient();
}

class WorkerLayoutClient implements LayoutClient {
  readonly #worker = new Worker(new URL('./layout-worker.ts', import.meta.url), { type: 'module' });
  #lastRequestId = 0;
  #resolve: ((placed: NestedLayout | null) => void) | null = null;

  constructor() {
    this.#worker.addEventListener('message', ({ data }: MessageEvent<LayoutWorkerResponse>) => {
      if (data.requestId === this.#lastRequestId) this.#settle(data.layout);
    });
  }

  layout(root: NestedGraph, direction: Direction): Promise<NestedLayout | null> {
    this.#settle(null);
    const order: LayoutWorkerRequest = { requestId: ++this.#lastRequestId, root, direction };
    this.#worker.postMessage(order);
    return new Promise((resolve) => (this.#resolve = resolve));
  }

  close(): void {
    this.#settle(null);
    this.#worker.terminate();
  }

  #settle(placed: NestedLayout | null): void {
    this.#resolve?.(placed);
    this.#resolve = null;
  }
}

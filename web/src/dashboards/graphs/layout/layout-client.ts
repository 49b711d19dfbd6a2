import type { Direction, NestedGraph, NestedLayout } from './layout-types';
import type { LayoutWorkerRequest, LayoutWorkerResponse } from './layout-worker';
import { layoutNestedGraph } from './nested-layout';

interface PendingLayout {
  readonly request: LayoutWorkerRequest;
  readonly resolve: (layout: NestedLayout | null) => void;
}

/**
 * Lays out graphs in a worker; a new request replaces the previous one. Where workers are not
 * available, as in a page opened from a file, the page itself does the layout.
 */
export class LayoutClient {
  #worker: Worker | null = null;
  #lastRequestId = 0;
  #pending: PendingLayout | null = null;

  constructor() {
    try {
      const worker = new Worker(new URL('./layout-worker.ts', import.meta.url), { type: 'module' });
      worker.addEventListener('message', ({ data }: MessageEvent<LayoutWorkerResponse>) => {
        if (data.requestId === this.#lastRequestId) this.#settle(data.layout);
      });
      worker.addEventListener('error', () => this.#handleError());
      this.#worker = worker;
    } catch (error) {
      // Chrome throws for the URL of a file, other browsers report an error later.
      if (!(error instanceof DOMException)) throw error;
    }
  }

  /** Return the layout, or null if it was canceled or replaced by a later request. */
  layout(root: NestedGraph, direction: Direction): Promise<NestedLayout | null> {
    this.#settle(null);
    if (!this.#worker) return Promise.resolve(layoutNestedGraph(root, direction));
    const request: LayoutWorkerRequest = { requestId: ++this.#lastRequestId, root, direction };
    this.#worker.postMessage(request);
    return new Promise((resolve) => (this.#pending = { request, resolve }));
  }

  /** Drop the pending layout. */
  cancel(): void {
    this.#settle(null);
  }

  close(): void {
    this.#settle(null);
    this.#worker?.terminate();
  }

  /** The worker could not be loaded, or has a bug, which then shows here. */
  #handleError(): void {
    this.#worker?.terminate();
    this.#worker = null;
    if (!this.#pending) return;
    const { root, direction } = this.#pending.request;
    this.#settle(layoutNestedGraph(root, direction));
  }

  #settle(layout: NestedLayout | null): void {
    this.#pending?.resolve(layout);
    this.#pending = null;
  }
}

/** An error of the page's own code. */
export interface PageError {
  readonly message: string;
  readonly count: number;
}

/** Messages of browsers for things that are not errors of the page. */
const IGNORED = /^ResizeObserver loop|^Script error\.?$/;

/**
 * Programming errors: whatever is thrown and no part of the page handles. They are shown as what
 * they are, never as an unreachable server, and the browser logs them to its console.
 */
export class PageErrors {
  latest = $state.raw<PageError | null>(null);

  /** Collect uncaught errors until the returned function is called. */
  start(): () => void {
    const listeners = new AbortController();
    const { signal } = listeners;
    addEventListener('error', (event) => this.#add(event.error ?? event.message), { signal });
    addEventListener('unhandledrejection', (event) => this.#add(event.reason), { signal });
    return () => listeners.abort();
  }

  dismiss(): void {
    this.latest = null;
  }

  #add(error: unknown): void {
    const message = describeError(error);
    if (isAborted(error) || IGNORED.test(message)) return;
    this.latest = { message, count: (this.latest?.count ?? 0) + 1 };
  }
}

/** Return the message of anything that was thrown. */
export function describeError(error: unknown): string {
  return error instanceof Error ? error.message || error.name : String(error);
}

/** A canceled request is not an error. */
function isAborted(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}

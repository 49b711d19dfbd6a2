import { getBackoffMs, NetworkError } from './errors';

/**
 * Knows whether the server can be reached. After a network error all requests wait; one at a time
 * is sent as a probe, after pauses that grow, until a response arrives.
 */
export class Connection {
  /** Why no response arrives; null while the server is reachable. */
  error: NetworkError | null = null;
  /** Time in milliseconds before which nothing is sent. */
  retryAt = 0;
  isProbing = false;
  #failures = 0;

  /** Update from the outcome of a request. Return whether the server was lost or is back. */
  update(error: unknown, isProbe: boolean): boolean {
    const wasLost = this.error !== null;
    if (!(error instanceof NetworkError)) {
      [this.error, this.retryAt, this.isProbing, this.#failures] = [null, 0, false, 0];
      return wasLost;
    }
    // Requests that were in flight together fail together, which counts as one failure.
    if (!wasLost || isProbe) {
      this.#failures++;
      this.retryAt = performance.now() + getBackoffMs(this.#failures);
      this.isProbing = false;
    }
    this.error = error;
    return !wasLost;
  }
}

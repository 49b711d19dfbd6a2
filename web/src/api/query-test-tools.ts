import type { Transport, WireRequest } from './transport';

/** A request to which a test responds. */
export interface SentRequest extends WireRequest {
  readonly signal: AbortSignal;
  respond(response: unknown): Promise<void>;
  fail(error: unknown): Promise<void>;
}

/** Wait until all pending promises are settled. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
}

/** Records requests; the test responds to them. */
export class FakeTransport implements Transport {
  readonly exportedAt = null;
  readonly sent: SentRequest[] = [];

  send(request: WireRequest, signal: AbortSignal): Promise<unknown> {
    return new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error));
      const respond = (response: unknown): Promise<void> => (resolve(response), settle());
      const fail = (error: unknown): Promise<void> => (reject(error as Error), settle());
      this.sent.push({ ...request, signal, respond, fail });
    });
  }

  supports(route: string): boolean {
    return route.startsWith('GET ');
  }

  resolveUrl(path: string): Promise<string> {
    return Promise.resolve(path);
  }

  /** The request with this number; the last one without. */
  get(index = -1): SentRequest {
    const request = this.sent.at(index);
    if (!request) throw new Error(`only ${this.sent.length} requests were sent`);
    return request;
  }
}

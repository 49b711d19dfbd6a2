/** GET requests that are sent before the code that uses their responses is loaded. */

export const COLUMNS_MEDIA_TYPE = 'application/vnd.tracklight.columns';
export const ACCEPT = `${COLUMNS_MEDIA_TYPE}, application/json;q=0.9`;

/** The list of runs. Of more runs than this, the page loads only those that it shows. */
export const ALL_RUNS = { limit: 10_000 };
export const RUNS_PATH = `api/v1/runs?limit=${ALL_RUNS.limit}`;

/** Unused responses are dropped after this time. */
const PREFETCH_MS = 10_000;

const prefetched = new Map<string, Promise<Response>>();

/** Send a GET request whose response the next request with the same path uses. */
export function prefetch(path: string): void {
  const response = fetch(path, { headers: { accept: ACCEPT } });
  // Errors are reported by the request.
  response.catch(() => undefined);
  prefetched.set(path, response);
  setTimeout(() => prefetched.delete(path), PREFETCH_MS);
}

export function takePrefetched(path: string): Promise<Response> | undefined {
  const response = prefetched.get(path);
  prefetched.delete(path);
  return response;
}

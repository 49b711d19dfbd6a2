import { type ServerProblem, translateProblem } from '../i18n/messages';
import { decodeColumns } from './columns';
import { isAbortError, NetworkError, ServerError, UnexpectedResponseError } from './errors';
import { ACCEPT, COLUMNS_MEDIA_TYPE, prefetch, takePrefetched } from './prefetch';

/** The source of responses: a server, a static export or the kernel of a notebook. */
export interface Transport {
  /**
   * Send a request and return the decoded response.
   *
   * Rejects with a `QueryError`, with an AbortError if `signal` was aborted, or with any other error
   * if the page itself has a bug.
   */
  send(request: WireRequest, signal: AbortSignal): Promise<unknown>;
  /** Return whether the route can be served; a static export has only some. */
  supports(route: string): boolean;
  /** Return a URL for images, players and links, which may be an object URL. */
  resolveUrl(path: string): Promise<string>;
  /** Request early what will be requested soon; a static export has everything at hand. */
  prefetch?(path: string): void;
  /** When a static export was created, in seconds since 1970; null if there is a server. */
  readonly exportedAt: number | null;
}

type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface WireRequest {
  /** Method and path with placeholders, below `api/v1/`: `GET blobs/{fingerprint}`. */
  readonly route: string;
  /** The request from which path, query and body were made; a static export handles it itself. */
  readonly fields: unknown;
  readonly method: HttpMethod;
  /** Relative to the page, with the query: `api/v1/tags?run=train`. */
  readonly path: string;
  /** Sent as JSON; a Blob is sent unchanged. */
  readonly body?: unknown;
  /** Return the body of the response as a file. */
  readonly isFile?: boolean | undefined;
  /** Changes something on the server. */
  readonly isMutation?: boolean;
}

export const API_ROOT = 'api/v1/';

type QueryValue = string | number | boolean | null | undefined;

/** Parameters of a URL: fields that are null or undefined are left out, lists repeat their name. */
export function encodeQuery(fields: Readonly<Record<string, unknown>>): string {
  const pairs = Object.entries(fields).flatMap(([name, value]) =>
    (Array.isArray(value) ? (value as QueryValue[]) : [value as QueryValue])
      .filter((one) => one !== null && one !== undefined)
      .map((one) => `${name}=${encodeURIComponent(one as string | number | boolean)}`),
  );
  return pairs.join('&');
}

/**
 * Make the request for a route such as `GET blobs/{fingerprint}`. Parts of the path and, without a
 * body, the query are filled from the fields of `request`, in their order: a static export stores
 * responses by URL.
 */
export function makeWireRequest(route: string, request: unknown, isFile?: boolean): WireRequest {
  const [method, template] = splitRoute(route);
  const fields = new Map(Object.entries(request ?? {}));
  const path = template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = String(fields.get(name));
    fields.delete(name);
    return encodeURIComponent(value);
  });
  let body: unknown;
  if (fields.get('body') instanceof Blob) {
    body = fields.get('body');
    fields.delete('body');
  } else if (method !== 'GET' && method !== 'DELETE') {
    body = Array.isArray(request) ? request : Object.fromEntries(fields);
    fields.clear();
  }
  const query = encodeQuery(Object.fromEntries(fields));
  const url = API_ROOT + path + (query && `?${query}`);
  return { route, fields: request, method, isFile, path: url, body };
}

export function splitRoute(route: string): readonly [method: HttpMethod, path: string] {
  const space = route.indexOf(' ');
  return [route.slice(0, space) as HttpMethod, route.slice(space + 1)];
}

/** Requests to the server that the page came from. URLs are relative, so any base path works. */
export const httpTransport: Transport = {
  exportedAt: null,
  supports: () => true,
  resolveUrl: (path) => Promise.resolve(path),
  prefetch,
  async send({ method, path, body, isFile }, signal) {
    const isJson = body !== undefined && !(body instanceof Blob);
    const accept = isFile ? '*/*' : ACCEPT;
    const response = await receive(
      (method === 'GET' && takePrefetched(path)) ||
        fetch(path, {
          method,
          signal,
          headers: isJson ? { accept, 'content-type': 'application/json' } : { accept },
          body: isJson ? JSON.stringify(body) : (body ?? null),
        }),
    );
    if (!response.ok) throw await readError(response);
    if (isFile) return receive(response.blob());
    const type = response.headers.get('content-type') ?? '';
    if (type === COLUMNS_MEDIA_TYPE) return decodeColumns(await receive(response.arrayBuffer()));
    if (!type.startsWith('application/json')) throw new UnexpectedResponseError(response.status);
    // Two steps: a body that breaks off is a network error, malformed JSON of our server is a bug.
    return JSON.parse(await receive(response.text()));
  },
};

/** The only place where an exception means that the network failed. */
async function receive<Value>(promise: Promise<Value>): Promise<Value> {
  try {
    return await promise;
  } catch (error) {
    throw isAbortError(error) ? error : new NetworkError();
  }
}

async function readError(response: Response): Promise<ServerError> {
  const { status, headers } = response;
  const problem = parseProblem(await receive(response.text()));
  if (problem === null) return new UnexpectedResponseError(status);
  const retryAfterS = Number.parseFloat(headers.get('retry-after') ?? '') || null;
  return new ServerError(translateProblem(problem), status, retryAfterS, problem.code);
}

function parseProblem(text: string): ServerProblem | null {
  try {
    const { error } = JSON.parse(text) as { error?: Partial<ServerProblem> };
    if (typeof error?.message !== 'string') return null;
    return { ...error, message: error.message, hint: error.hint ?? '' };
  } catch {
    return null; // HTML of a proxy
  }
}

let transport = httpTransport;

/** Replace the transport, before the first request. */
export function setTransport(other: Transport): void {
  transport = other;
}

export function getTransport(): Transport {
  return transport;
}

type PathRequest = Partial<Pick<WireRequest, 'method' | 'body' | 'isFile'>> & {
  readonly signal?: AbortSignal | undefined;
};

/** Send a request that is given by its path instead of its route. Return the decoded response. */
export async function apiRequest<Response>(
  path: string,
  { method = 'GET', body, isFile, signal = new AbortController().signal }: PathRequest = {},
): Promise<Response> {
  const [folder = '', query = ''] = path.split('?');
  const route = `${method} ${folder.replace(API_ROOT, '')}`;
  const fields = body ?? Object.fromEntries(new URLSearchParams(query));
  const request = { route, fields, method, path, body, isFile };
  return (await transport.send(request, signal)) as Response;
}

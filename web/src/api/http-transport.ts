import { translateProblem, type ServerProblem } from '../i18n/server-messages';
import { COLUMNS_MEDIA_TYPE, decodeColumns } from './decode';
import { isAbortError, NetworkError, ServerError, UnexpectedResponseError } from './errors';
import type { Transport, WireRequest } from './transport';
import type { Problem } from './schemas';

type Fetch = (path: string, init: RequestInit) => Promise<Response>;

/** Requests to the server that the page came from. URLs are relative, so any base path works. */
export class HttpTransport implements Transport {
  readonly exportedAt = null;
  readonly #fetch: Fetch;

  constructor(fetchResponse: Fetch = (path, init) => fetch(path, init)) {
    this.#fetch = fetchResponse;
  }

  supports(): boolean {
    return true;
  }

  resolveUrl(path: string): Promise<string> {
    return Promise.resolve(path);
  }

  async send(request: WireRequest, signal: AbortSignal): Promise<unknown> {
    const init = makeInit(request, signal);
    const response = await receive(() => this.#fetch(request.path, init));
    if (!response.ok) throw await readError(response);
    if (request.isFile) return receive(() => response.blob());
    const type = response.headers.get('content-type') ?? '';
    if (type === COLUMNS_MEDIA_TYPE)
      return decodeColumns(await receive(() => response.arrayBuffer()));
    if (!type.startsWith('application/json')) throw new UnexpectedResponseError(response.status);
    // Two steps: a body that breaks off is a network error, malformed JSON of our server is a bug.
    return JSON.parse(await receive(() => response.text()));
  }
}

function makeInit({ method, body, isFile }: WireRequest, signal: AbortSignal): RequestInit {
  const accept = isFile ? '*/*' : `${COLUMNS_MEDIA_TYPE}, application/json;q=0.9`;
  const init: RequestInit = { method, signal, headers: { accept } };
  if (body === undefined) return init;
  if (body instanceof Blob) return { ...init, body };
  const headers = { accept, 'content-type': 'application/json' };
  return { ...init, headers, body: JSON.stringify(body) };
}

/** The only place where an exception means that the network failed. */
async function receive<Value>(read: () => Promise<Value>): Promise<Value> {
  try {
    return await read();
  } catch (error) {
    throw isAbortError(error) ? error : new NetworkError();
  }
}

async function readError(response: Response): Promise<ServerError> {
  const { status } = response;
  const text = await receive(() => response.text());
  const problem = parseProblem(text);
  if (problem === null) return new UnexpectedResponseError(status);
  const seconds = Number.parseFloat(response.headers.get('retry-after') ?? '');
  return new ServerError(problem, status, Number.isFinite(seconds) ? seconds : null);
}

function parseProblem(text: string): Problem | null {
  try {
    const { error } = JSON.parse(text) as { error?: Partial<ServerProblem> };
    if (typeof error?.message !== 'string') return null;
    return translateProblem({ ...error, message: error.message, hint: error.hint ?? '' });
  } catch {
    return null; // HTML of a proxy
  }
}

import * as common from '../../catalog/common';
import { decodeColumns } from '../columns';
import { API_ROOT, splitRoute, type Transport, type WireRequest } from '../transport';
import { NotExportedError, ServerError } from '../errors';
import type { RequestOf, ResponseOf, RouteName } from '../query-definition';
import type {
  ColumnsResponse,
  ExportHead,
  RunsResponse,
  StepsRequest,
  StepsResponse,
  TagNamesResponse,
} from '../schemas';

/** Computes in the page what a server would return for a route. */
export type StaticHandler<Name extends RouteName> = (
  request: RequestOf<Name>,
  contents: ExportContents,
) => ResponseOf<Name> | Promise<ResponseOf<Name>>;

/** Handlers by route; routes without one are served from the responses in the export. */
export type StaticHandlers = { readonly [Name in RouteName]?: StaticHandler<Name> };

type AnyHandler = (request: unknown, contents: ExportContents) => unknown;

/** Serves requests from the data of a static export. */
export class StaticTransport implements Transport {
  readonly exportedAt: number;
  readonly #contents: ExportContents;
  readonly #handlers: Readonly<Record<string, AnyHandler>>;
  readonly #urls = new Map<string, Promise<string>>();

  constructor(contents: ExportContents, handlers: StaticHandlers = {}) {
    this.#contents = contents;
    this.exportedAt = contents.head.created;
    const all: StaticHandlers = { ...serverHandlers, ...handlers };
    this.#handlers = all as Readonly<Record<string, AnyHandler>>;
  }

  async send({ method, path, route, fields, isMutation }: WireRequest): Promise<unknown> {
    const { responses } = this.#contents.head;
    if (method === 'GET' && path in responses) return responses[path];
    if (method === 'GET' && this.#contents.has(path)) {
      return toBlobIfFile(await this.#contents.read(path));
    }
    const handle = this.#handlers[route];
    if (handle) return handle(fields, this.#contents);
    throw isMutation ? makeReadOnlyError() : new NotExportedError();
  }

  supports(route: string): boolean {
    const [method, path] = splitRoute(route);
    const isExported = method === 'GET' && this.#contents.hasBelow(API_ROOT + path);
    return isExported || route in this.#handlers;
  }

  resolveUrl(path: string): Promise<string> {
    const known = this.#urls.get(path);
    if (known) return known;
    const url = this.#contents.read(path).then((file) => {
      const blob = toBlobIfFile(file);
      if (!(blob instanceof Blob)) throw new NotExportedError();
      return URL.createObjectURL(blob);
    });
    this.#urls.set(path, url);
    // A missing script may exist at the next attempt.
    url.catch(() => this.#urls.delete(path));
    return url;
  }
}

const serverHandlers: StaticHandlers = {
  // The path has a limit, which does not matter here.
  'GET runs': (_, { head }) => head.responses['api/v1/runs'] as RunsResponse,
  'POST tags': ({ runs }, { head }) => listTagNames(head.tag_runs, runs),
  'POST runs/columns': ({ columns }, { head }) => selectColumns(head.columns, columns),
};

function selectColumns(
  { runs, columns }: ColumnsResponse,
  names: readonly string[],
): ColumnsResponse {
  const empty = runs.map(() => null);
  return {
    runs,
    columns: Object.fromEntries(names.map((name) => [name, columns[name] ?? empty])),
  };
}

function listTagNames(
  { sets, tags }: ExportHead['tag_runs'],
  runs: readonly string[],
): TagNamesResponse {
  const selected = new Set(runs);
  const isSelected = sets.map((names) => names.some((name) => selected.has(name)));
  return { tags: Object.keys(tags).filter((tag) => isSelected[tags[tag] ?? -1]) };
}

/** Files are stored as bytes with a media type. */
function toBlobIfFile(response: unknown): unknown {
  if (typeof response !== 'object' || response === null || !('content' in response)) {
    return response;
  }
  if (!('media_type' in response) || !(response.content instanceof Uint8Array)) return response;
  return new Blob([Uint8Array.from(response.content)], { type: String(response.media_type) });
}

/** Unpack a response of `tracklight/server/static_export`: binary columns, deflated, in Base64. */
async function unpackResponse(text: string): Promise<unknown> {
  if (typeof DecompressionStream === 'undefined') throw makeUnsupportedError();
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
  return decodeColumns(await new Response(stream).arrayBuffer());
}

function makeUnsupportedError(): ServerError {
  const problem = {
    message: common.staticUnsupportedMessage,
    hint: common.staticUnsupportedHint,
  };
  return new ServerError(problem, 501);
}

/** The global variable of an export, to which its scripts add their data. */
export interface ExportData {
  readonly head: ExportHead;
  /** Packed responses by path. */
  readonly packed: Record<string, string>;
  /** Scripts that add further responses, by path. */
  readonly files: Readonly<Record<string, string>>;
}

/** The responses of an export, unpacked when they are first read. */
export class ExportContents {
  readonly #data: ExportData;
  readonly #loadScript: (file: string) => Promise<void>;
  readonly #responses = new Map<string, Promise<unknown>>();

  constructor(data: ExportData, load: (file: string) => Promise<void> = loadScript) {
    this.#data = data;
    this.#loadScript = load;
  }

  get head(): ExportHead {
    return this.#data.head;
  }

  has(path: string): boolean {
    return path in this.#data.packed || path in this.#data.files;
  }

  /** Return whether there is a response at the path, with any query, or below it. */
  hasBelow(path: string): boolean {
    const { head, packed, files } = this.#data;
    return [head.responses, packed, files].some((byPath) =>
      Object.keys(byPath).some(
        (key) =>
          key === path || (/[/?]/.test(key.slice(path.length)[0] ?? '') && key.startsWith(path)),
      ),
    );
  }

  read(path: string): Promise<unknown> {
    const known = this.#responses.get(path);
    if (known) return known;
    const response = this.#load(path);
    this.#responses.set(path, response);
    // A missing script may exist at the next attempt.
    response.catch(() => this.#responses.delete(path));
    return response;
  }

  async #load(path: string): Promise<unknown> {
    const { packed, files } = this.#data;
    const file = files[path];
    if (!(path in packed) && file !== undefined) await this.#loadScript(file);
    const text = packed[path];
    if (text === undefined) throw makeMissingError(file ?? path);
    const response = await unpackResponse(text);
    // The packed text is not needed any more.
    packed[path] = '';
    return response;
  }
}

/** A local page cannot fetch files, but it can load scripts from its folder. */
function loadScript(file: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const script = document.createElement('script');
    script.src = file;
    script.onload = () => resolve();
    script.onerror = () => reject(makeMissingError(file));
    document.head.append(script);
  });
}

function makeReadOnlyError(): ServerError {
  const problem = { message: common.staticReadOnlyMessage, hint: common.staticReadOnlyHint };
  return new ServerError(problem, 405);
}

function makeMissingError(path: string): ServerError {
  const problem = {
    message: common.staticMissingMessage({ path }),
    hint: common.staticMissingHint,
  };
  return new ServerError(problem, 404);
}

/** The steps of tags, which an export contains per tag. */
export const stepsHandlers: StaticHandlers = {
  'POST audio/steps': (request, contents) => readSteps('audio', request, contents),
  'POST images/steps': (request, contents) => readSteps('images', request, contents),
  'POST mesh/steps': (request, contents) => readSteps('mesh', request, contents),
  'POST pr_curves/steps': (request, contents) => readSteps('pr_curves', request, contents),
  'POST text/steps': (request, contents) => readSteps('text', request, contents),
};

async function readSteps(
  dashboard: string,
  { tags }: StepsRequest,
  contents: ExportContents,
): Promise<StepsResponse> {
  const responses = await Promise.all(
    tags.map((tag) => contents.read(`api/v1/${dashboard}/steps/${encodeURIComponent(tag)}`)),
  );
  const series = (responses as StepsResponse[]).flatMap((response) => response.series);
  return { cursor: '', series };
}

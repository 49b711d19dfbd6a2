import { NotExportedError, ReadOnlyError } from '../errors';
import type { RequestOf, ResponseOf, RouteName } from '../query-definition';
import type { ColumnsResponse, ExportHead, TagNamesResponse } from '../schemas';
import { getRoutePath, splitRoute, type Transport, type WireRequest } from '../transport';
import type { ExportContents } from './contents';

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
    throw isMutation ? new ReadOnlyError() : new NotExportedError();
  }

  supports(route: string): boolean {
    const isRead = splitRoute(route)[0] === 'GET';
    return route in this.#handlers || (isRead && this.#contents.hasBelow(getRoutePath(route)));
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
    // The script that holds it may be there the next time.
    url.catch(() => this.#urls.delete(path));
    return url;
  }
}

const serverHandlers: StaticHandlers = {
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
  const wanted = new Set(runs);
  const isWanted = sets.map((names) => names.some((name) => wanted.has(name)));
  return { tags: Object.keys(tags).filter((tag) => isWanted[tags[tag] ?? -1]) };
}

/** Files are stored as bytes with a media type. */
function toBlobIfFile(response: unknown): unknown {
  if (typeof response !== 'object' || response === null || !('content' in response)) {
    return response;
  }
  if (!('media_type' in response) || !(response.content instanceof Uint8Array)) return response;
  return new Blob([Uint8Array.from(response.content)], { type: String(response.media_type) });
}

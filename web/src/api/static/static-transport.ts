import { ApiError, type ColumnsResponse } from '../client';
import type { Transport } from '../transport';
import type { TagNamesResponse } from '../schemas';
import type { ExportContents, ExportHead } from './contents';
import { StaticScalars } from './static-scalars';

/** Answers as a server would, as far as what the copy carries allows. */
export function createStaticTransport(contents: ExportContents): Transport {
  const scalars = new StaticScalars(contents);

  async function answer(path: string, init: RequestInit): Promise<unknown> {
    const method = init.method ?? 'GET';
    const { responses, columns, tag_runs } = contents.head;
    if (method === 'GET' && path in responses) return responses[path];
    if (method === 'GET' && contents.has(path)) return toBlobIfFile(await contents.read(path));
    if (method === 'POST' && path === 'api/v1/tags') return listTagNames(tag_runs, readBody(init));
    if (method === 'POST' && path === 'api/v1/runs/columns')
      return selectColumns(columns, readBody(init));
    if (method === 'POST' && path.startsWith(StaticScalars.pathPrefix)) {
      return scalars.handle(path.slice(StaticScalars.pathPrefix.length), readBody(init));
    }
    throw method === 'GET' ? makeNotExportedError() : makeReadOnlyError();
  }

  return { createdAt: contents.head.created, request: answer };
}

function readBody(init: RequestInit): unknown {
  return JSON.parse(typeof init.body === 'string' ? init.body : 'null');
}

function selectColumns({ runs, columns }: ColumnsResponse, body: unknown): ColumnsResponse {
  const wanted = (body as { columns: readonly string[] }).columns;
  const nothing = runs.map(() => null);
  return {
    runs,
    columns: Object.fromEntries(wanted.map((key) => [key, columns[key] ?? nothing])),
  };
}

function listTagNames({ sets, tags }: ExportHead['tag_runs'], body: unknown): TagNamesResponse {
  const wanted = new Set((body as { runs: readonly string[] }).runs);
  const found = sets.map((runs) => runs.some((run) => wanted.has(run)));
  return { tags: Object.keys(tags).filter((tag) => found[tags[tag] ?? -1]) };
}

/** A file comes as bytes with a type; any other answer as it is. */
function toBlobIfFile(answer: unknown): unknown {
  if (typeof answer !== 'object' || answer === null || !('content' in answer)) return answer;
  if (!('media_type' in answer) || !(answer.content instanceof Uint8Array)) return answer;
  return new Blob([Uint8Array.from(answer.content)], { type: String(answer.media_type) });
}

function makeNotExportedError(): ApiError {
  const problem = {
    message: 'This is not part of the copy of the board.',
    hint: 'Open the log itself with tracklight to see it.',
  };
  return new ApiError(problem, 404);
}

function makeReadOnlyError(): ApiError {
  const problem = {
    message: 'A copy of a board keeps nothing that is said to it.',
    hint: 'Say it on the board itself, and copy it again.',
  };
  return new ApiError(problem, 405);
}

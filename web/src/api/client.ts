import type {
  ChartsAnswer,
  FilesAnswer,
  Problem,
  RunsAnswer,
  ScalarQuery,
  StatusAnswer,
  TagsAnswer,
} from './types';

/** Something went wrong, in words fit for the page. */
export class ApiError extends Error {
  constructor(
    readonly problem: Problem,
    readonly status: number,
  ) {
    super(problem.what);
  }
}

const UNREACHABLE: Problem = {
  what: 'The server does not answer.',
  next: 'Check that tracklight still runs, then try again.',
};

export const getStatus = (): Promise<StatusAnswer> => ask('api/status');

export const getRuns = (): Promise<RunsAnswer> => ask('api/runs');

export function getTags(run: string | null, signal: AbortSignal): Promise<TagsAnswer> {
  return ask(`api/tags${run === null ? '' : `?${new URLSearchParams({ run })}`}`, { signal });
}

export function getDamagedFiles(run: string | null): Promise<FilesAnswer> {
  const query = new URLSearchParams({ damaged: '1', ...(run === null ? {} : { run }) });
  return ask(`api/files?${query}`);
}

export function queryScalars(query: ScalarQuery, signal: AbortSignal): Promise<ChartsAnswer> {
  const headers = { 'content-type': 'application/json' };
  return ask('api/scalars/query', { method: 'POST', body: JSON.stringify(query), headers, signal });
}

/** True for the rejection of a request that we took back ourselves. */
export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}

export function problemOf(error: unknown): Problem {
  return error instanceof ApiError ? error.problem : UNREACHABLE;
}

/** Addresses are relative to the page, which may live under any path. */
async function ask<Answer>(path: string, init: RequestInit = {}): Promise<Answer> {
  const response = await fetch(path, init);
  if (!response.ok) throw new ApiError(await readProblem(response), response.status);
  return (await response.json()) as Answer;
}

async function readProblem(response: Response): Promise<Problem> {
  try {
    const { error } = (await response.json()) as { error: Problem };
    return { what: error.what, next: error.next };
  } catch {
    // A proxy in between answers in its own words.
    return { what: `The server answered ${response.status}.`, next: UNREACHABLE.next };
  }
}

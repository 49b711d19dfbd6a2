import { COLUMNS_TYPE, decodeColumns } from './columns';
import { findDoor } from './door';
import type {
  DashboardRow,
  FilesAnswer,
  Problem,
  RunsAnswer,
  StatusAnswer,
  TagNamesAnswer,
  TagsAnswer,
} from './types';

/** Something went wrong, in words fit for the page. */
export class ApiError extends Error {
  constructor(
    readonly problem: Problem,
    readonly status: number,
  ) {
    super(problem.message);
  }
}

const UNREACHABLE: Problem = {
  message: 'The server does not answer.',
  hint: 'Check that tracklight still runs, then try again.',
};

export const getStatus = (): Promise<StatusAnswer> => ask('api/v1/status');

export const getRuns = (): Promise<RunsAnswer> => ask('api/v1/runs');

export const getTags = (): Promise<TagsAnswer> => ask('api/v1/tags');

export const findTagNames = (
  runs: readonly string[],
  signal?: AbortSignal,
): Promise<TagNamesAnswer> => ask('api/v1/tags', postJson({ runs }, signal));

export const getDamagedFiles = (): Promise<FilesAnswer> => ask('api/v1/files?damaged=1');

export const getDashboards = (): Promise<readonly DashboardRow[]> => ask('api/v1/dashboards');

export function postJson(body: unknown, signal?: AbortSignal): RequestInit {
  const headers = { 'content-type': 'application/json' };
  return { method: 'POST', body: JSON.stringify(body), headers, ...(signal ? { signal } : {}) };
}

/** True for the rejection of a request that we took back ourselves. */
export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}

export function problemOf(error: unknown): Problem {
  return error instanceof ApiError ? error.problem : UNREACHABLE;
}

const early = new Map<string, Promise<unknown>>();

/** Asks what somebody is about to ask, who then gets this answer. */
export function askAhead(path: string): void {
  const answer = ask(path);
  // Who asks is told.
  answer.catch(() => undefined);
  early.set(path, answer);
}

/** Columns in the answer come as typed arrays. */
export async function ask<Answer>(path: string, init: RequestInit = {}): Promise<Answer> {
  const answer = init.method ? undefined : early.get(path);
  early.delete(path);
  return (await (answer ?? askNow(path, init))) as Answer;
}

async function askNow(path: string, init: RequestInit): Promise<unknown> {
  const door = findDoor();
  if (door) return door.answer(path, init);
  const headers = new Headers(init.headers);
  headers.set('accept', `${COLUMNS_TYPE}, application/json;q=0.9`);
  const response = await fetchWell(path, { ...init, headers });
  const isColumns = response.headers.get('content-type') === COLUMNS_TYPE;
  return isColumns ? decodeColumns(await response.arrayBuffer()) : response.json();
}

export async function askForFile(path: string, init: RequestInit = {}): Promise<Blob> {
  const door = findDoor();
  if (door) return (await door.answer(path, init)) as Blob;
  return (await fetchWell(path, init)).blob();
}

/** Addresses are relative to the page, which may live under any path. */
async function fetchWell(path: string, init: RequestInit): Promise<Response> {
  const response = await fetch(path, init);
  if (!response.ok) throw new ApiError(await readProblem(response), response.status);
  return response;
}

async function readProblem(response: Response): Promise<Problem> {
  try {
    const { error } = (await response.json()) as { error: Problem };
    return { message: error.message, hint: error.hint };
  } catch {
    // A proxy in between answers in its own words.
    return { message: `The server answered ${response.status}.`, hint: UNREACHABLE.hint };
  }
}

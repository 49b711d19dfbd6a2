import * as common from '../catalog/common';
import type { Problem } from './schemas';

/**
 * A request that failed for a reason outside of the page's code. It has a message for the user;
 * everything else that is thrown is a programming error and must reach an error boundary.
 */
export abstract class QueryError extends Error {
  constructor(readonly problem: Problem) {
    super(problem.message);
    this.name = new.target.name;
  }
}

/** The problem of every `NetworkError`. The page reports it once, so cards do not repeat it. */
export const NETWORK_PROBLEM: Problem = {
  message: common.errorNetworkMessage,
  hint: common.errorNetworkHint,
};

/** No response arrived: the server is down, the network failed, or the body was cut off. */
export class NetworkError extends QueryError {
  constructor() {
    super(NETWORK_PROBLEM);
  }
}

/** The server refused the request or failed to handle it. */
export class ServerError extends QueryError {
  constructor(
    problem: Problem,
    readonly status: number,
    /** Seconds after which the server asks for another attempt; null if it does not say. */
    readonly retryAfterS: number | null = null,
    /** Identifies what failed, in every language; empty if the server does not say. */
    readonly code = '',
  ) {
    super(problem);
  }
}

/** A response that tracklight does not send, such as the login page of a proxy. */
export class UnexpectedResponseError extends ServerError {
  constructor(status: number) {
    const message = common.errorServerStatus({ status: String(status) });
    super({ message, hint: common.errorServerHint }, status);
  }
}

/** A static export does not contain the requested data. */
export class NotExportedError extends ServerError {
  constructor() {
    super({ message: common.staticNotExportedMessage, hint: common.staticNotExportedHint }, 404);
  }
}

/** Return whether the error is the rejection of a request that the page canceled itself. */
export function isAbortError(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}

/** Return the message of a failed request. Rethrow programming errors. */
export function toProblem(error: unknown): Problem {
  if (error instanceof QueryError) return error.problem;
  throw error;
}

const BACKOFF_S = [1, 2, 4, 8, 16, 30];
const MAX_BUSY_RETRIES = 3;
const SERVER_FAILURE_RETRY_MS = 2000;
const TOO_MANY_REQUESTS = 429;
const UNAVAILABLE = 503;

/** Return the pause before attempt number `failures + 1` after network errors, with jitter. */
export function getBackoffMs(failures: number, random = Math.random()): number {
  const seconds = BACKOFF_S[Math.min(failures, BACKOFF_S.length) - 1] ?? 1;
  return seconds * 1000 * (0.8 + 0.4 * random);
}

/**
 * Return after how many milliseconds a failed request is repeated, or null if it is not. Network
 * errors are not decided here: they concern all requests, see `QueryCache`.
 */
export function getRetryDelayMs(error: ServerError, failures: number): number | null {
  const { status, retryAfterS } = error;
  if (status === TOO_MANY_REQUESTS || status === UNAVAILABLE) {
    if (failures > MAX_BUSY_RETRIES) return null;
    return retryAfterS === null ? getBackoffMs(failures) : retryAfterS * 1000;
  }
  const isTemporary = status >= 500 || error instanceof UnexpectedResponseError;
  return isTemporary && failures === 1 ? SERVER_FAILURE_RETRY_MS : null;
}

/** Whether the server finds fault with a request: with several in a batch, one of them is bad. */
export function isRefusal(error: unknown): boolean {
  if (!(error instanceof ServerError) || error.status === TOO_MANY_REQUESTS) return false;
  return error.status >= 400 && error.status < 500;
}

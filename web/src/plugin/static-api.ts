import { ServerError } from '../api/errors';
import type { DashboardApi } from './context';

/** Answers in a copy of a board as the server would, from what is carried of each thing. */
export abstract class StaticApi<Copy> implements DashboardApi {
  protected readonly base: DashboardApi;
  readonly #copies = new Map<string, Promise<Copy>>();

  constructor(door: DashboardApi) {
    this.base = door;
  }

  abstract get<Answer>(path: string, signal?: AbortSignal): Promise<Answer>;
  abstract post<Answer>(path: string, body: unknown, signal?: AbortSignal): Promise<Answer>;

  blob(path: string, body: unknown, signal?: AbortSignal): Promise<Blob> {
    return this.base.blob(path, body, signal);
  }

  url(path: string): string {
    return this.base.url(path);
  }

  fileUrl(path: string): Promise<string> {
    return this.base.fileUrl(path);
  }

  /** All that is carried of one thing, which is read once. */
  protected getExported(id: string): Promise<Copy> {
    const copy = this.#copies.get(id) ?? this.base.get<Copy>(`copy/${id}`);
    this.#copies.set(id, copy);
    return copy;
  }
}

export function makeNotExportedError(): ServerError {
  const what = 'A copy of a board does not carry this.';
  return new ServerError(
    { message: what, hint: 'Open the log itself with tracklight to see it.' },
    404,
  );
}

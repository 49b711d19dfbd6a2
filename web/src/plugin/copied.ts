import { ApiError } from '../api/client';
import type { Api } from './context';

/** Answers in a copy of a board as the server would, from what is carried of each thing. */
export abstract class CopiedApi<Copy> implements Api {
  protected readonly door: Api;
  readonly #copies = new Map<string, Promise<Copy>>();

  constructor(door: Api) {
    this.door = door;
  }

  abstract get<Answer>(path: string, signal?: AbortSignal): Promise<Answer>;
  abstract post<Answer>(path: string, body: unknown, signal?: AbortSignal): Promise<Answer>;

  blob(path: string, body: unknown, signal?: AbortSignal): Promise<Blob> {
    return this.door.blob(path, body, signal);
  }

  url(path: string): string {
    return this.door.url(path);
  }

  fileUrl(path: string): Promise<string> {
    return this.door.fileUrl(path);
  }

  /** All that is carried of one thing, which is read once. */
  protected copyOf(id: string): Promise<Copy> {
    const copy = this.#copies.get(id) ?? this.door.get<Copy>(`copy/${id}`);
    this.#copies.set(id, copy);
    return copy;
  }
}

export function notCopied(): ApiError {
  const what = 'A copy of a board does not carry this.';
  return new ApiError(
    { message: what, hint: 'Open the log itself with tracklight to see it.' },
    404,
  );
}

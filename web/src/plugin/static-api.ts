import type { DashboardApi } from './context';

/** The API of a dashboard in a static export, computed from the exported data. */
export abstract class StaticApi<Data> implements DashboardApi {
  protected readonly base: DashboardApi;
  readonly #exported = new Map<string, Promise<Data>>();

  constructor(base: DashboardApi) {
    this.base = base;
  }

  abstract get<Response>(path: string, signal?: AbortSignal): Promise<Response>;
  abstract post<Response>(path: string, body: unknown, signal?: AbortSignal): Promise<Response>;

  blob(path: string, body: unknown, signal?: AbortSignal): Promise<Blob> {
    return this.base.blob(path, body, signal);
  }

  url(path: string): string {
    return this.base.url(path);
  }

  fileUrl(path: string): Promise<string> {
    return this.base.fileUrl(path);
  }

  /** Return the exported data of one item; it is read once. */
  protected getExported(id: string): Promise<Data> {
    const data = this.#exported.get(id) ?? this.base.get<Data>(`copy/${id}`);
    this.#exported.set(id, data);
    return data;
  }
}

import { ask, askForFile, postJson } from '../api/client';
import { findFileUrl } from '../api/files';
import type { Api } from '../plugin/context';

/** The server half of one dashboard; addresses are relative to the page, wherever it lives. */
export function apiOf(name: string): Api {
  const url = (path: string): string => `api/v1/${name}/${path}`;
  return {
    url,
    fileUrl: (path) => findFileUrl(url(path)),
    get: (path, signal) => ask(url(path), signal ? { signal } : {}),
    post: (path, body, signal) => ask(url(path), postJson(body, signal)),
    blob: (path, body, signal) => askForFile(url(path), postJson(body, signal)),
  };
}

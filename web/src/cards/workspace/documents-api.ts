/** Requests for workspaces and reports. */
import { apiRequest } from '../../api/client';
import { ServerError } from '../../api/errors';
import type {
  DocumentListResponse,
  DocumentResponse,
  RenderResponse,
  VersionListResponse,
} from '../../api/schemas';
import type { BoardDocument } from './document';

export type { DocumentListResponse, DocumentResponse, DocumentRow } from '../../api/schemas';

const CONFLICT = 409;
const FORBIDDEN = 403;
const NOT_FOUND = 404;
const MAX_ATTEMPTS = 5;

const path = (name: string): string => `api/v1/workspaces/${name}`;

export const listDocuments = (): Promise<DocumentListResponse> => apiRequest(path('documents'));

export const getDocument = (id: string): Promise<DocumentResponse> =>
  apiRequest(path(`document?id=${encodeURIComponent(id)}`));

/** Rejects with a ServerError of status 409 if another revision than `expected` is stored. */
export function saveDocument(
  document: BoardDocument,
  expected: number,
  keepVersion = false,
): Promise<DocumentResponse> {
  const body = { document, expected, keep_version: keepVersion };
  return apiRequest(path('document'), { method: 'PUT', body });
}

export const deleteDocument = (id: string, expected: number): Promise<DocumentListResponse> =>
  apiRequest(path(`document?id=${encodeURIComponent(id)}&expected=${expected}`), {
    method: 'DELETE',
  });

export const setDefaultDocument = (id: string | null): Promise<DocumentListResponse> =>
  apiRequest(path('default'), { method: 'PUT', body: { id } });

export const listVersions = (id: string): Promise<VersionListResponse> =>
  apiRequest(path(`versions?id=${encodeURIComponent(id)}`));

export const getVersion = (id: string, revision: number): Promise<DocumentResponse> =>
  apiRequest(path(`version?id=${encodeURIComponent(id)}&revision=${revision}`));

export const renderReport = (text: string): Promise<RenderResponse> =>
  apiRequest(path('render'), { method: 'POST', body: { text } });

export const isConflict = (error: unknown): boolean =>
  error instanceof ServerError && error.status === CONFLICT;

/** The server is read-only, or the user is not one of its writers. */
export const isForbidden = (error: unknown): boolean =>
  error instanceof ServerError && error.status === FORBIDDEN;

export const isMissing = (error: unknown): boolean =>
  error instanceof ServerError && error.status === NOT_FOUND;

/** Change a stored document; if someone else changes it meanwhile, change that state. */
export async function updateDocument(
  id: string,
  change: (document: BoardDocument) => BoardDocument,
): Promise<DocumentResponse> {
  for (let attempt = 1; ; attempt++) {
    const { document, revision } = await getDocument(id);
    try {
      return await saveDocument(change(document), revision);
    } catch (error) {
      if (!isConflict(error) || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}

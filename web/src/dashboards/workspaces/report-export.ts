import { apiRequestBlob, postJson } from '../../api/client';
import { toProblem } from '../../api/errors';
import { downloadBlob, toFileName } from '../../cards/export';
import { type BoardDocument, listCards } from '../../cards/workspace/document';
import { packNames } from '../../lib/run-selection';
import type { WorkspaceState } from './workspace-state.svelte';

/** Return the query of a page that shows a document, with all runs that its cards need. */
export function makeExportQuery(
  document: BoardDocument,
  search: string,
  visibleRuns: readonly string[],
): string {
  const query = new URLSearchParams(search);
  const pinned = listCards(document).flatMap(({ runs }) => runs ?? []);
  const runs = new Set([...visibleRuns, ...pinned]);
  for (const name of ['runs', 'runs-regex', 'runs-query', 'edit', 'card']) query.delete(name);
  query.set('tab', 'workspaces');
  query.set('workspace', document.id);
  query.set('selected', `none;+${packNames(runs)}`);
  return query.toString();
}

/** Download a document as one HTML file, with the data of its cards. */
export async function exportReport(
  document: BoardDocument,
  workspace: WorkspaceState,
): Promise<void> {
  const visible = workspace.context.runs.visible.map(({ name }) => name);
  const view = `?${makeExportQuery(document, location.search, visible)}`;
  try {
    const page = await apiRequestBlob('api/v1/export', postJson({ view }));
    downloadBlob(page, `${toFileName(document.name)}.html`);
  } catch (error) {
    workspace.error = toProblem(error);
  }
}

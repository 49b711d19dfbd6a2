import { toFileName, downloadBlob } from '../../cards/export';
import type { MenuItem } from '../../components/menu';
import type { ProjectorState } from './projector-state.svelte';
import { formatProjectorQuery } from './query.svelte';

/** What can be taken away: the picture as it is seen, and files of labels, places and vectors. */
export function projectorExportItems(
  projector: ProjectorState,
  photograph: () => Promise<Blob | null>,
): MenuItem[][] {
  const { catalog, params, layouts, context } = projector;
  const title = [catalog.current?.run, catalog.current?.name, params.method.value].join(' ');
  const picture = {
    label: 'Picture as PNG',
    run: () =>
      void photograph().then((blob) => blob && downloadBlob(blob, `${toFileName(title)}.png`)),
  };
  if (context.isStatic) return [[picture]];
  const job = layouts.main.status?.job ?? null;
  const file = (label: string, what: string, format: string, job: string | null): MenuItem => ({
    label,
    run: () => download(projector, { what, format, job }),
  });
  return [
    [picture],
    [
      file('Labels as TSV', 'labels', 'tsv', null),
      ...(job === null ? [] : [file('Places and labels as TSV', 'layout', 'tsv', job)]),
      file('Vectors as TSV', 'vectors', 'tsv', null),
      file('Vectors as NumPy', 'vectors', 'npy', null),
    ],
  ];
}

/** The server streams it, so the browser is sent there. */
function download(
  { api, catalog }: ProjectorState,
  fields: { what: string; format: string; job: string | null },
): void {
  if (!catalog.reference) return;
  const link = document.createElement('a');
  link.href = api.url(`file?${formatProjectorQuery({ ...catalog.reference, ...fields })}`);
  link.download = '';
  link.click();
}

import { problemOf } from '../../../api/client';
import { plural } from '../../../base/format';
import { saveAs, savePicture } from '../../../wall/takeaway/save';
import { toCsv } from '../../../wall/takeaway/table';
import { legendOf } from '../colour/legend';
import { TITLES } from '../state/settings';
import type { Study } from '../study.svelte';
import { pictureOf } from './picture';
import { sheetOf, writeJson } from './sheet';

interface Format {
  /** As the server calls it. */
  readonly word: string;
  readonly ending: string;
}

export const FORMATS: readonly { readonly name: string; readonly format: Format }[] = [
  { name: 'CSV', format: { word: 'csv', ending: 'csv' } },
  { name: 'JSON', format: { word: 'json', ending: 'json' } },
  { name: 'LaTeX', format: { word: 'latex', ending: 'tex' } },
  { name: 'Markdown', format: { word: 'markdown', ending: 'md' } },
];

/** What is asked for: the columns and sessions that are shown, in their order. */
export function exportAsk(study: Study, word: string) {
  const { how, lastN, step, repeats } = study.settings;
  const names = study.loader.answer?.rows.names ?? [];
  return {
    format: word,
    columns: ['name', ...study.columns.map(({ key }) => key)],
    sessions: Array.from(study.sorted, (row) => names[row] ?? ''),
    how: how.value,
    n: lastN.value,
    step: step.value,
    over: repeats.value === 'each' ? null : repeats.value,
  };
}

/** What a copy of a board carries by itself; it has no server to ask for the others. */
export const COPIED: readonly string[] = ['csv', 'json'];

export async function saveSessions(study: Study, { word, ending }: Format): Promise<void> {
  study.trouble = null;
  try {
    const file = study.context.isStatic
      ? writeSessions(study, word)
      : await study.context.api.blob('export', exportAsk(study, word));
    saveAs(file, `sessions.${ending}`);
  } catch (error) {
    study.trouble = problemOf(error);
  }
}

function writeSessions(study: Study, word: string): Blob {
  const sheet = sheetOf(study);
  return word === 'csv'
    ? new Blob([toCsv(sheet)], { type: 'text/csv' })
    : new Blob([writeJson(sheet)], { type: 'application/json' });
}

/** The plot above the table, as it is seen. */
export async function savePlot(study: Study, format: 'svg' | 'png'): Promise<void> {
  const { figures, settings, goal, rows } = study;
  const view = settings.view.value;
  if (!figures.root) return;
  const legend = view === 'importance' ? null : legendOf(study);
  const title = [TITLES[view], goal?.column.title, plural(rows.length, 'session')];
  const picture = pictureOf(figures.root, figures.all, legend);
  await savePicture(picture, format, title.filter(Boolean).join(' · '));
}

import { problemOf } from '../../../api/client';
import { saveAs } from '../../../wall/takeaway/save';
import type { Study } from '../study.svelte';

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

export async function saveSessions(study: Study, { word, ending }: Format): Promise<void> {
  study.trouble = null;
  try {
    const file = await study.context.api.blob('export', exportAsk(study, word));
    saveAs(file, `sessions.${ending}`);
  } catch (error) {
    study.trouble = problemOf(error);
  }
}

import type { TagCard } from '../../cards/card-sections';
import { type LogRoot, openLogLines, quotePython } from '../../cards/export';
import type { MenuItem } from '../../components/menu';
import type { Shortcut } from '../../plugin/context';
import { textDiffQuery } from './query';
import type { TextState } from './text-state.svelte';

/** The keys that other walls do not have; returns how to take them back. */
export function registerTextShortcuts(texts: TextState, focusSearch: () => void): () => void {
  const group = texts.info.title;
  const stops = textShortcuts(texts, focusSearch).map((key) =>
    texts.context.shortcuts.register({ ...key, group }),
  );
  return () => stops.forEach((stop) => stop());
}

function textShortcuts(texts: TextState, focusSearch: () => void): Omit<Shortcut, 'group'>[] {
  const { format, stepMode } = texts.textSettings;
  return [
    { keys: '/', label: 'Search in the texts', run: focusSearch },
    { keys: 'n', label: 'Next hit', run: () => texts.search.moveBy(1) },
    { keys: 'Shift+N', label: 'Hit before', run: () => texts.search.moveBy(-1) },
    {
      keys: 'r',
      label: 'Markdown, or as logged',
      run: () => format.set(format.value === 'raw' ? 'markdown' : 'raw'),
    },
    {
      keys: 'a',
      label: 'All steps, or one',
      run: () => stepMode.set(stepMode.value === 'all' ? 'step' : 'all'),
    },
    {
      keys: 'c',
      label: 'Compare two texts of the card',
      run: () => {
        const card = texts.activeCardId === null ? undefined : texts.findCard(texts.activeCardId);
        if (card && texts.context.supports(textDiffQuery.route)) texts.openComparison(card);
      },
    },
  ];
}

/** What can be done with a card of texts, beside what can be done with any. */
export function textCardMenu(texts: TextState, card: TagCard, showPython: () => void): MenuItem[] {
  const compare: MenuItem = {
    label: 'Compare two texts',
    hint: 'c',
    disabled: (texts.stepLoader.get(card.tag) ?? []).length === 0,
    run: () => texts.openComparison(card),
  };
  const python: MenuItem = { label: 'Copy as Python', run: showPython };
  // What compares is the server, and a copy of a board has none.
  return texts.context.supports(textDiffQuery.route) ? [compare, python] : [python];
}

/** What the lines of Python are to read. */
export interface TextPythonOptions {
  readonly roots: readonly LogRoot[];
  readonly runs: readonly string[];
  readonly tag: string;
}

/** Lines of Python that read the same texts. */
export function textPythonCode({ roots, runs, tag }: TextPythonOptions): string {
  return [
    ...openLogLines(roots),
    `for run in [${runs.map(quotePython).join(', ')}]:`,
    `    texts = log.text(run, ${quotePython(tag)})`,
    '    for step, text in zip(texts.step, texts):',
    '        print(run, step, text)  # an array of strings, of rank 0 for a plain text',
    '',
  ].join('\n');
}

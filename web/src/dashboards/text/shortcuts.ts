import type { Shortcut } from '../../plugin/context';
import type { Texts } from './texts.svelte';

/** The keys that other walls do not have; returns how to take them back. */
export function registerKeys(texts: Texts, focusSearch: () => void): () => void {
  const group = texts.about.title;
  const stops = keysOf(texts, focusSearch).map((key) =>
    texts.context.keys.register({ ...key, group }),
  );
  return () => stops.forEach((stop) => stop());
}

function keysOf(texts: Texts, focusSearch: () => void): Omit<Shortcut, 'group'>[] {
  const { form, extent } = texts.look;
  return [
    { keys: '/', label: 'Search in the texts', run: focusSearch },
    { keys: 'n', label: 'Next hit', run: () => texts.search.move(1) },
    { keys: 'Shift+N', label: 'Hit before', run: () => texts.search.move(-1) },
    {
      keys: 'r',
      label: 'Markdown, or as logged',
      run: () => form.set(form.value === 'raw' ? 'markdown' : 'raw'),
    },
    {
      keys: 'a',
      label: 'All steps, or one',
      run: () => extent.set(extent.value === 'all' ? 'step' : 'all'),
    },
    {
      keys: 'c',
      label: 'Compare two texts of the card',
      run: () => {
        const card = texts.current === null ? undefined : texts.findCard(texts.current);
        if (card && !texts.context.isStatic) texts.compare(card);
      },
    },
  ];
}

import type { TagCard } from '../../../wall/card';
import type { MenuItem } from '../../../widgets/menu';
import type { Texts } from '../texts.svelte';

/** What can be done with a card of texts, beside what can be done with any. */
export function menuOf(texts: Texts, card: TagCard, showPython: () => void): MenuItem[] {
  const compare: MenuItem = {
    label: 'Compare two texts',
    hint: 'c',
    disabled: (texts.loader.find(card.tag) ?? []).length === 0,
    run: () => texts.compare(card),
  };
  const python: MenuItem = { label: 'Copy as Python', run: showPython };
  // What compares is the server, and a copy of a board has none.
  return texts.context.isStatic ? [python] : [compare, python];
}

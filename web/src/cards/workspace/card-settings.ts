import { list } from '../../lib/codecs';

/** URL parameters of the page and of card grids, which mean nothing for a single card. */
const OTHER_PARAMS = new Set([
  'baseline',
  'card',
  'collapsed',
  'collapsed-groups',
  'color',
  'columns',
  'cursor',
  'filter',
  'group',
  'multi-tag',
  'order',
  'paused',
  'pinned',
  'range',
  'rt-compare',
  'rt-run',
  'runs',
  'runs-query',
  'runs-regex',
  'selected',
  'show-hidden',
  'sort',
  'step',
  'sync-steps',
  'tab',
  'tags',
  'tags-regex',
  'token',
  'tour',
  'wide',
  'workspace',
]);

/** Return the settings that a card has in its dashboard, from the URL of the page. */
export function readCardSettings(
  query: URLSearchParams,
  target: string,
): Readonly<Record<string, string>> {
  const settings = Object.fromEntries([...query].filter(([name]) => !OTHER_PARAMS.has(name)));
  // On a board, every card has its own step.
  const step = query.get('sync-steps') === '0' ? null : query.get('step');
  return step ? { ...settings, steps: list.format([target, step]) } : settings;
}

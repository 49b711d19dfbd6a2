/** Queries of the Text dashboard. */
import { defineQuery } from '../../api/query-definition';

const MAX_CACHED_CHARACTERS = 20_000_000;

/** A text as rendered by the server. */
export const textQuery = defineQuery('GET text/render', {
  scope: 'immutable',
  cost: ({ cells }) =>
    cells.reduce((sum, { html, text }) => sum + (html ?? '').length + (text ?? '').length, 0),
  maxCost: MAX_CACHED_CHARACTERS,
});

export const textDiffQuery = defineQuery('POST text/diff', {
  scope: 'immutable',
  priority: 'high',
});

/** One page of search results. */
export const textSearchQuery = defineQuery('POST text/search', {
  scope: ({ runs = null }) => ({ runs }),
  // Hundreds of texts may be loading.
  priority: 'high',
});

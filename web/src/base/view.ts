import { type Filter, NO_FILTER } from './filter';

/** All that decides what is seen; it is kept in the address, so that a copied link shows the same. */
export interface ViewState {
  /** null means all runs together. */
  readonly run: string | null;
  readonly runFilter: Filter;
  readonly tagFilter: Filter;
  /** null means tags of every kind. */
  readonly kind: string | null;
  /** Titles of the sections that are folded away. */
  readonly folded: readonly string[];
}

export function parseView(search: string): ViewState {
  const query = new URLSearchParams(search);
  return {
    run: query.get('run'),
    runFilter: parseFilter(query, 'runs'),
    tagFilter: parseFilter(query, 'tags'),
    kind: query.get('kind'),
    folded: query.getAll('fold'),
  };
}

/** The query string for a view, empty for the plain one. */
export function formatView(view: ViewState): string {
  const query = new URLSearchParams();
  if (view.run !== null) query.set('run', view.run);
  setFilter(query, 'runs', view.runFilter);
  setFilter(query, 'tags', view.tagFilter);
  if (view.kind !== null) query.set('kind', view.kind);
  for (const title of view.folded) query.append('fold', title);
  const text = query.toString();
  return text ? `?${text}` : '';
}

function parseFilter(query: URLSearchParams, name: string): Filter {
  const regex = query.get(`${name}-re`);
  if (regex !== null) return { text: regex, regex: true };
  const text = query.get(name);
  return text === null ? NO_FILTER : { text, regex: false };
}

function setFilter(query: URLSearchParams, name: string, filter: Filter): void {
  if (filter.text) query.set(filter.regex ? `${name}-re` : name, filter.text);
}

import { StaticApi, makeNotExportedError } from '../../plugin/static-api';
import type { StaticGraph, GroupsResponse, SearchHitRow, SearchResponse } from './schemas';

/** Answers as the server would from what a copy of a board carries of its graphs. */
export class StaticGraphApi extends StaticApi<StaticGraph> {
  async get<Answer>(path: string): Promise<Answer> {
    const [name = '', query = ''] = path.split('?');
    const asked = new URLSearchParams(query);
    const copy = await this.getExported(asked.get('id') ?? '');
    const answer = findResponse(copy, name, asked);
    if (answer === undefined) throw makeNotExportedError();
    return answer as Answer;
  }

  async post<Answer>(_: string, body: unknown): Promise<Answer> {
    const { id, groups } = body as { readonly id: string; readonly groups: readonly string[] };
    const copy = await this.getExported(id);
    const found = copy.groups.filter(({ path }) => groups.includes(path));
    if (found.length < groups.length) throw makeNotExportedError();
    return { groups: found } satisfies GroupsResponse as Answer;
  }
}

function findResponse(copy: StaticGraph, name: string, asked: URLSearchParams): unknown {
  if (name === 'about') return copy.about;
  if (name === 'statistics') return copy.statistics;
  if (name === 'search') return search(copy, asked.get('query') ?? '');
  if (name === 'node') return copy.nodes.find(({ path }) => path === asked.get('path'));
  if (name !== 'paint') return undefined;
  const group = copy.paints.find((painted) => painted.group === asked.get('group'));
  return group?.paints.find(({ by }) => by === asked.get('by'));
}

/** Over names and operations of what is carried; a word may say which: `op:Conv2D`. */
function search(copy: StaticGraph, query: string): SearchResponse {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const hits = copy.groups.flatMap(({ path: group, children }) =>
    children.flatMap((child): SearchHitRow[] => {
      const isHit = words.every((word) => matches(word, child.path, child.op));
      const { path, kind, op, first, last } = child;
      const inside = [...enclosingGroups(copy, group), ...(group === '' ? [] : [group])];
      return isHit
        ? [{ path, kind, op, where: 'name', text: path, first, last, body: '', inside }]
        : [];
    }),
  );
  return { total: hits.length, hits: hits.slice(0, 100) };
}

function matches(word: string, path: string, op: string): boolean {
  if (word.startsWith('op:')) return op.toLowerCase().includes(word.slice(3));
  return `${path} ${op}`.toLowerCase().includes(word);
}

/** The groups around a group, from the outermost on. */
function enclosingGroups(copy: StaticGraph, group: string): string[] {
  const holder = copy.groups.find(({ children }) => children.some(({ path }) => path === group));
  if (!holder || holder.path === '') return [];
  return [...enclosingGroups(copy, holder.path), holder.path];
}

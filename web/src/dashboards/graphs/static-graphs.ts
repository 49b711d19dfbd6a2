import { NotExportedError } from '../../api/errors';
import type { ExportContents, StaticHandlers } from '../../api/static/static-transport';
import type {
  GraphRequest,
  GraphsSearchResponse,
  SearchHitRow,
  StaticGraph,
} from '../../api/schemas';
import { makeBodyPath } from './graph-model';

const MAX_HITS = 100;

/** Responses about the graphs in a static export, which has one document per graph. */
export const graphHandlers: StaticHandlers = {
  'GET graphs/about': async (request, contents) => (await readGraph(request, contents)).about,
  'GET graphs/statistics': async (request, contents) =>
    (await readGraph(request, contents)).statistics,
  'POST graphs/groups': async (request, contents) => {
    const graph = await readGraph(request, contents);
    const { groups = [] } = request;
    return {
      groups: groups.map((group) => getExported(graph.groups.find(({ path }) => path === group))),
    };
  },
  'GET graphs/paint': async (request, contents) => {
    const { paints } = await readGraph(request, contents);
    const { group = '', by } = request;
    const colorings = paints.find((one) => one.group === group)?.paints ?? [];
    return getExported(colorings.find((coloring) => coloring.by === by));
  },
  'GET graphs/node': async (request, contents) => {
    const { nodes } = await readGraph(request, contents);
    return getExported(nodes.find(({ path }) => path === request.path));
  },
  'GET graphs/search': async (request, contents) =>
    searchNodes(await readGraph(request, contents), request.query ?? ''),
};

async function readGraph({ id }: GraphRequest, contents: ExportContents): Promise<StaticGraph> {
  const path = `api/v1/graphs/copy/${id}`;
  if (!contents.has(path)) throw new NotExportedError();
  return (await contents.read(path)) as StaticGraph;
}

function getExported<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new NotExportedError();
  return value;
}

/** Search names and operations; the prefix `op:` restricts a word to operations. */
function searchNodes(graph: StaticGraph, query: string): GraphsSearchResponse {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const hits = graph.groups.flatMap(({ path: group, children }) => {
    const ancestors = [...listEnclosingGroups(graph, group), ...(group === '' ? [] : [group])];
    return children
      .filter(({ path, op }) => words.every((word) => matchesWord(word, path, op)))
      .map(({ path, kind, op, first, last }): SearchHitRow => ({
        ...{ path, kind, op, field: 'name', text: path },
        ...{ first, last, body: '', ancestors },
      }));
  });
  return { total: hits.length, hits: hits.slice(0, MAX_HITS) };
}

function matchesWord(word: string, path: string, op: string): boolean {
  if (word.startsWith('op:')) return op.toLowerCase().includes(word.slice('op:'.length));
  return `${path} ${op}`.toLowerCase().includes(word);
}

/** Return the groups around a group, outermost first. */
function listEnclosingGroups(graph: StaticGraph, group: string): string[] {
  const parent = graph.groups.find(({ children }) =>
    children.some(
      ({ path, functions }) =>
        path === group || functions.some((name) => makeBodyPath(path, name) === group),
    ),
  );
  if (!parent || parent.path === '') return [];
  return [...listEnclosingGroups(graph, parent.path), parent.path];
}

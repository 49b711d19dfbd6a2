import { flushSync } from 'svelte';
import { expect, test, vi } from 'vitest';

import { createQuery } from '../../api/create-query.svelte';
import { NotExportedError, ServerError } from '../../api/errors';
import { QueryCache } from '../../api/query-cache';
import { FakeTransport, settle } from '../../api/query-test-tools';
import type {
  BoundaryColumns,
  ChildRow,
  EdgeColumns,
  GraphRow,
  GraphsResponse,
  GroupResponse,
  GroupsRequest,
  StaticGraph,
} from '../../api/schemas';
import { ExportContents } from '../../api/static/static-transport';
import type { Codec } from '../../lib/codecs';
import type { Context } from '../../plugin/context';
import { createGraphParams, GraphCatalog } from './graph-catalog.svelte';
import { GraphQueries } from './query.svelte';
import { graphHandlers } from '../static-handlers';

vi.stubGlobal('innerWidth', 1440);

const LIST: GraphsResponse = {
  cursor: '',
  overlays: [],
  graphs: [
    {
      ...{ id: 'g', run: 'train', tag: 't', title: 'Model', kind: 'op', plugin: 'graphs' },
      ...{ bytes: 10, steps: [{ index: 0, step: 1, wall_time: 0, fingerprint: 7 }], profiles: [] },
    },
  ],
};

const EDGES = {
  ...{ count: new Int32Array(), control: new Int32Array(), size: new Float64Array() },
  ...{ label: [], dtype: [], change: [] },
};
const NO_EDGES: EdgeColumns = { ...EDGES, source: new Int32Array(), target: new Int32Array() };
const NO_BOUNDARY: BoundaryColumns = { ...EDGES, child: new Int32Array(), partner: [] };

function makeChild(path: string, more: Partial<ChildRow> = {}): ChildRow {
  return {
    ...{ path, label: path, kind: 'op', op: 'Relu', nodes: 1, first: 0, last: 1 },
    ...{ shape: '', dtype: '', functions: [], role: '', inputs: 0, outputs: 0 },
    ...{ structure_id: -1, parameters: -1, change: null, single_child_chain: [] },
    ...more,
  };
}

function makeGroup(
  path: string,
  children: ChildRow[] = [],
  total = children.length,
): GroupResponse {
  return {
    ...{ path, kind: 'scope', total, offset: 0, children },
    ...{ edges: NO_EDGES, incoming: NO_BOUNDARY, outgoing: NO_BOUNDARY },
  };
}

/** Parameters that are kept in memory. */
function makeParams(): ReturnType<typeof createGraphParams> {
  const param = <Value>(_name: string, _codec: Codec<Value>, fallback: Value) => {
    let value = $state.raw(fallback);
    return {
      get value() {
        return value;
      },
      set: (next: Value) => void (value = next),
    };
  };
  return createGraphParams({ url: { param }, preferences: { param } });
}

async function openGraph(open: readonly string[] | null, list: GraphsResponse = LIST) {
  const transport = new FakeTransport();
  const cache = new QueryCache({ transport });
  const params = makeParams();
  params.open.set(open);
  const context = {
    queries: cache,
    query: ((definition, request, options) =>
      createQuery(cache, definition, request, options)) as Context['query'],
    runs: { visible: [] },
  } as unknown as Context;
  let queries!: GraphQueries;
  let catalog!: GraphCatalog;
  const stop = $effect.root(() => {
    catalog = new GraphCatalog(context, params);
    queries = new GraphQueries(context, params, catalog);
  });
  await update();
  await transport.get().respond(list);
  await update();
  const findLast = (route: string) => {
    const found = transport.sent.findLast((request) => request.route === route);
    if (!found) throw new Error(`no request for ${route}`);
    return found;
  };
  return { params, queries, findLast, stop, catalog, transport };
}

async function update(): Promise<void> {
  flushSync();
  await settle();
}

test('the expanded groups of a link are loaded together', async () => {
  const { queries, findLast, stop } = await openGraph(['a', 'a/b']);
  const request = findLast('POST graphs/groups');
  expect(request.body).toEqual({
    ...{ id: 'g', index: 0, fingerprint: 7, fold: true, limit: 200 },
    groups: ['', 'a', 'a/b'],
  });
  expect(queries.isSettled).toBe(false);
  await request.respond({ groups: ['', 'a', 'a/b'].map((path) => makeGroup(path)) });
  expect([...queries.groups.keys()]).toEqual(['', 'a', 'a/b']);
  expect([queries.isSettled, queries.error]).toEqual([true, null]);
  stop();
});

test('without a link the groups of the default view are expanded', async () => {
  const { queries, findLast, stop } = await openGraph(null);
  await findLast('GET graphs/about').respond({ default_groups: ['net'] });
  await update();
  await findLast('POST graphs/groups').respond({ groups: [makeGroup('')] });
  await update();
  expect(queries.openGroups).toEqual(['net']);
  const { groups } = findLast('POST graphs/groups').body as GroupsRequest;
  expect(groups).toEqual(['net']);
  stop();
});

test('groups of the graph before are not requested of another one', async () => {
  const graphs = [...LIST.graphs, ...LIST.graphs.map((row) => ({ ...row, id: 'other' }))];
  const { queries, findLast, stop, catalog, transport } = await openGraph(null, {
    ...LIST,
    graphs,
  });
  await findLast('GET graphs/about').respond({ default_groups: ['net'] });
  await update();
  await findLast('POST graphs/groups').respond({ groups: [makeGroup('')] });
  await update();
  await findLast('POST graphs/groups').respond({ groups: [makeGroup('net')] });
  await update();
  expect(queries.openGroups).toEqual(['net']);
  catalog.open('other');
  await update();
  const requests = transport.sent.filter(({ route }) => route === 'POST graphs/groups');
  const bodies = requests.map(({ body }) => body as GroupsRequest);
  expect(bodies.filter(({ id }) => id === 'other').map(({ groups }) => groups)).toEqual([['']]);
  stop();
});

test('a group that the graph no longer has does not hide the others', async () => {
  const { queries, findLast, stop } = await openGraph(['gone']);
  const refusal = new ServerError({ message: 'no group', hint: '' }, 400);
  await findLast('POST graphs/groups').fail(refusal);
  for (const path of ['', 'gone']) {
    const request = findLast('POST graphs/groups');
    expect((request.body as GroupsRequest).groups).toEqual([path]);
    if (path === '') await request.respond({ groups: [makeGroup('')] });
    else await request.fail(refusal);
  }
  expect([...queries.groups.keys()]).toEqual(['']);
  expect([queries.isSettled, queries.error]).toEqual([true, null]);
  stop();
});

test('nodes that are loaded later are colored too', async () => {
  const { queries, findLast, stop } = await openGraph([]);
  await findLast('POST graphs/groups').respond({ groups: [makeGroup('', [makeChild('x')], 450)] });
  const stopColors = $effect.root(() => queries.followColorings(() => 'op'));
  await update();
  expect(findLast('GET graphs/paint').fields).toMatchObject({ by: 'op', limit: 200 });
  expect(queries.hasMore('')).toBe(true);
  queries.loadMore('');
  await update();
  expect(queries.hasMore('')).toBe(false);
  expect(findLast('POST graphs/groups').body).toMatchObject({ groups: [''], limit: 400 });
  expect(findLast('GET graphs/paint').fields).toMatchObject({ by: 'op', limit: 400 });
  expect(queries.groups.get('')?.nodes).toHaveLength(1);
  stopColors();
  stop();
});

test('colors are loaded again for another scale', async () => {
  const { queries, findLast, stop } = await openGraph([]);
  await findLast('POST graphs/groups').respond({ groups: [makeGroup('', [makeChild('x')])] });
  let scale = $state<'op' | 'parameters'>('op');
  const stopColors = $effect.root(() => queries.followColorings(() => scale));
  await update();
  expect(findLast('GET graphs/paint').fields).toMatchObject({ by: 'op' });
  scale = 'parameters';
  await update();
  expect(findLast('GET graphs/paint').fields).toMatchObject({ by: 'parameters' });
  stopColors();
  stop();
});

// ---- Static export

const EXPORTED: Partial<StaticGraph> = {
  groups: [
    makeGroup('', [
      makeChild('net', { kind: 'scope', op: '' }),
      makeChild('call', { functions: ['f'] }),
    ]),
    makeGroup('net', [makeChild('net/relu'), makeChild('net/add', { op: 'AddV2' })]),
    makeGroup('call|f|', [makeChild('call|f|relu')]),
  ],
};

class FakeContents extends ExportContents {
  override has(path: string): boolean {
    return path === 'api/v1/graphs/copy/g';
  }

  override read(): Promise<unknown> {
    return Promise.resolve(EXPORTED);
  }
}

const contents = new FakeContents({ head: {}, packed: {}, files: {} } as never);

test('an export finds nodes by name and operation, with the groups around them', async () => {
  const search = graphHandlers['GET graphs/search'];
  const find = async (query: string) => {
    const response = await search?.({ id: 'g', query }, contents);
    return response?.hits.map(({ path, ancestors }) => [path, ancestors]);
  };
  expect(await find('op:add')).toEqual([['net/add', ['net']]]);
  expect(await find('NET relu')).toEqual([['net/relu', ['net']]]);
  expect(await find('f|relu')).toEqual([['call|f|relu', ['call|f|']]]);
  expect(await find('op:net')).toEqual([]);
});

test('what an export does not contain is reported as such', async () => {
  const load = graphHandlers['POST graphs/groups'];
  await expect(load?.({ id: 'g', groups: ['', 'gone'] }, contents)).rejects.toThrow(
    NotExportedError,
  );
  await expect(load?.({ id: 'other', groups: [''] }, contents)).rejects.toThrow(NotExportedError);
});

test('after an upload, the lists have what the server keeps', async () => {
  const makeUpload = (id: string): GraphRow => ({
    ...{ id, run: '', tag: id, title: id, kind: 'upload', plugin: '' },
    ...{ bytes: 1, steps: [], profiles: [] },
  });
  const list = (...ids: string[]): GraphsResponse => ({ ...LIST, graphs: ids.map(makeUpload) });
  const transport = new FakeTransport();
  const queries = new QueryCache({ transport });
  const params = makeParams();
  let catalog!: GraphCatalog;
  const stop = $effect.root(() => {
    const context = {
      queries,
      runs: { visible: [] },
      query: ((definition, request, options) =>
        createQuery(queries, definition, request, options)) as Context['query'],
    } as unknown as Context;
    catalog = new GraphCatalog(context, params);
  });
  await update();
  await transport.get().respond(list('first', 'second'));
  catalog.compareWith('first');
  expect(catalog.other?.id).toBe('first');
  const uploaded = catalog.upload(new File(['x'], 'third.onnx'));
  await settle();
  expect(transport.get().isMutation).toBe(true);
  await transport.get().respond(makeUpload('third'));
  await uploaded;
  expect(catalog.current?.id).toBe('third');
  // The server has dropped the oldest.
  await transport.get().respond(list('second', 'third'));
  expect(catalog.rows.map(({ id }) => id)).toEqual(['second', 'third']);
  expect([catalog.current?.id, catalog.other]).toEqual(['third', undefined]);
  stop();
});

test('empty graphs are skipped unless all are empty or the user selects one', async () => {
  const [row] = LIST.graphs as [GraphRow];
  const list = { ...LIST, graphs: ['g', 'h', 'i'].map((id) => ({ ...row, id, title: id })) };
  const { params, catalog, findLast, queries, stop } = await openGraph(null, list);
  const reportEmpty = async () => {
    const error = new ServerError({ message: 'empty', hint: '' }, 422, null, 'graphs.empty');
    await findLast('GET graphs/about').fail(error);
    await update();
    return [catalog.current?.id, catalog.skipped.map(({ id }) => id)];
  };
  expect(catalog.current?.id).toBe('g');
  expect(await reportEmpty()).toEqual(['h', ['g']]);
  expect([catalog.isEmpty('g'), catalog.isEmpty('h')]).toEqual([true, false]);
  expect(queries.overview.error).toBeNull();
  params.graph.set('g');
  await update();
  expect([catalog.current?.id, catalog.skipped]).toEqual(['g', []]);
  expect(await reportEmpty()).toEqual(['g', []]);
  params.graph.set('');
  await update();
  expect(catalog.current?.id).toBe('h');
  stop();
});

test('the first graph is current if all are empty', async () => {
  const [row] = LIST.graphs as [GraphRow];
  const list = { ...LIST, graphs: ['g', 'h'].map((id) => ({ ...row, id })) };
  const { catalog, stop } = await openGraph(null, list);
  catalog.markEmpty('g');
  catalog.markEmpty('h');
  expect([catalog.current?.id, catalog.skipped]).toEqual(['g', []]);
  stop();
});

import { flushSync } from 'svelte';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import { settle } from '../api/query-test-tools';
import type { DashboardRow, LoadStatus, RunRow, TagRow } from '../api/schemas';
import { text } from '../lib/codecs';
import { AUTO_SELECTION, makeSelection } from '../lib/run-selection';
import type { BuiltInDashboard } from '../plugin/registry';
import { applyDelta, type ConnectionInput, getConnectionStatus } from './live-log.svelte';
import { createPageState, type PageState, startPage } from './page-state.svelte';
import { makeExpression, makeSelectionRequest } from './runs/paged-run-list.svelte';
import { PageUrl } from './url.svelte';

type Listener = (event: unknown) => void;

/** Counts and calls listeners, as `window` and media queries have them. */
class FakeTarget {
  readonly listeners = new Map<string, Set<Listener>>();

  addEventListener(name: string, listener: Listener, options?: { signal?: AbortSignal }): void {
    const listeners = this.listeners.get(name) ?? new Set();
    this.listeners.set(name, listeners.add(listener));
    options?.signal?.addEventListener('abort', () => listeners.delete(listener));
  }

  dispatch(name: string, event: unknown = {}): void {
    for (const listener of [...(this.listeners.get(name) ?? [])]) listener(event);
  }

  get listenerCount(): number {
    return [...this.listeners.values()].reduce((sum, { size }) => sum + size, 0);
  }
}

/** The parts of a browser that the state of the page uses. Installed as globals for one test. */
class BrowserStub extends FakeTarget {
  readonly storage = new Map<string, string>();
  readonly media = new FakeTarget();
  readonly location = { pathname: '/', search: '', hash: '', href: 'http://localhost/' };
  /** Query strings of the history entries, the current one included. */
  readonly entries: string[];
  #index = 0;

  constructor(search = '') {
    super();
    this.location.search = search;
    this.entries = [search];
    const globals = {
      location: this.location,
      history: {
        pushState: (_: unknown, __: string, url: string) => this.#push(url),
        replaceState: (_: unknown, __: string, url: string) => this.#replace(url),
      },
      localStorage: {
        getItem: (key: string) => this.storage.get(key) ?? null,
        setItem: (key: string, value: string) => void this.storage.set(key, value),
        removeItem: (key: string) => void this.storage.delete(key),
      },
      matchMedia: () => ({
        matches: false,
        addEventListener: this.media.addEventListener.bind(this.media),
      }),
      addEventListener: this.addEventListener.bind(this),
      document: { documentElement: { dataset: {} }, hidden: false, addEventListener: () => {} },
      self: this,
      top: this,
    };
    for (const [name, value] of Object.entries(globals)) vi.stubGlobal(name, value);
  }

  /** Go to another history entry, as Back (-1) and Forward (1) do. */
  go(by: number): void {
    this.#index += by;
    this.location.search = this.entries[this.#index] ?? '';
    this.dispatch('popstate');
  }

  #push(url: string): void {
    this.entries.splice(++this.#index, Infinity, '');
    this.#replace(url);
  }

  #replace(url: string): void {
    const query = url.indexOf('?');
    this.location.search = query < 0 ? '' : url.slice(query);
    this.entries[this.#index] = this.location.search;
  }
}

describe('page state', () => {
  const makeRun = (name: string, start_wall: number | null = 1): RunRow => ({
    name,
    points: 10,
    start_wall,
    last_wall: start_wall,
    files: 1,
    bytes: 1,
    tags: 1,
    damaged: 0,
  });

  const dashboard = (name: string, group: BuiltInDashboard['group']): BuiltInDashboard => ({
    name,
    title: name,
    group,
    load: () => new Promise(() => undefined),
  });

  const BUILT_IN = [
    dashboard('scalars', 'metrics'),
    dashboard('histograms', 'model'),
    dashboard('images', 'media'),
    { ...dashboard('overview', 'metrics'), isAlwaysActive: true },
  ];

  let browser: BrowserStub;
  let requests: string[];

  beforeEach(() => {
    vi.useFakeTimers();
    browser = new BrowserStub();
    requests = [];
    vi.stubGlobal('fetch', (url: string) => {
      requests.push(String(url));
      return new Promise(() => undefined);
    });
  });

  afterEach(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });

  function createPage(runs: readonly string[] = []): PageState {
    const page = createPageState(BUILT_IN);
    page.liveLog.runs = runs.map((name) => makeRun(name));
    return page;
  }

  function setTags(page: PageState, ...plugins: string[]): void {
    page.tags.rows = plugins.map(
      (plugin) => ({ tag: plugin, plugin, kind: 'scalar' }) as unknown as TagRow,
    );
  }

  test('creating a page adds no listeners and sends no requests', () => {
    createPage();
    expect(browser.listenerCount + browser.media.listenerCount).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
    expect(requests).toEqual([]);
  });

  test('a stopped page leaves no listeners and timers', async () => {
    const stop = startPage(createPage());
    flushSync();
    await settle();
    expect(browser.listenerCount).toBeGreaterThan(0);
    expect(requests.length).toBeGreaterThan(0);
    stop();
    expect(browser.listenerCount + browser.media.listenerCount).toBe(0);
  });

  test('two pages have separate state', () => {
    const [one, other] = [createPage(['a', 'b']), createPage(['a', 'b'])];
    one.runFilter.set('a');
    expect(one.runFilter.matching).toHaveLength(1);
    expect(other.runFilter.matching).toHaveLength(2);
  });

  test('Back and Forward restore dashboard, grouping, color and selection', async () => {
    const page = createPage(['x/a', 'x/b', 'y/a']);
    const stop = startPage(page);
    const steps = [
      () => page.dashboards.open('images'),
      () => page.runGroups.groupBy({ by: 'path', part: 1 }),
      () => page.runColors.setColorBy({ by: 'group' }),
      () => page.runs.solo('x/b'),
    ];
    const describe = (): unknown[] => [
      page.dashboards.current?.name,
      page.runGroups.grouping?.by,
      page.runColors.by.by,
      page.runs.visible.map(({ name }) => name),
    ];
    const views = [describe()];
    for (const step of steps) {
      step();
      await Promise.resolve();
      views.push(describe());
    }
    expect(browser.entries).toHaveLength(5);
    for (const view of views.slice(0, -1).reverse()) {
      browser.go(-1);
      expect(describe()).toEqual(view);
    }
    for (const view of views.slice(1)) {
      browser.go(1);
      expect(describe()).toEqual(view);
    }
    stop();
  });

  test('tabs are ordered by group, whatever has data', () => {
    const page = createPage(['a']);
    setTags(page, 'histograms', 'images', 'scalars');
    expect(page.dashboards.tabs.map(({ name }) => name)).toEqual([
      'scalars',
      'overview',
      'images',
      'histograms',
    ]);
    setTags(page, 'histograms');
    expect(page.dashboards.tabs.map(({ name }) => name)).toEqual(['overview', 'histograms']);
    expect(page.dashboards.tabGroups.map(({ group }) => group)).toEqual(['metrics', 'model']);
    expect(page.dashboards.inactive.map(({ name }) => name)).toEqual(['scalars', 'images']);
  });

  test('a dashboard of a plugin is in a group of its own, after the others', async () => {
    const row: DashboardRow = {
      name: 'means',
      title: 'Means',
      plugins: ['scalars'],
      active: true,
      module_url: 'means.js',
    };
    vi.stubGlobal('fetch', () => Promise.resolve(Response.json([row])));
    const page = createPage(['a']);
    page.dashboards.start();
    await settle();
    expect(page.dashboards.entries.at(-1)).toMatchObject({ name: 'means', group: 'plugins' });
  });

  test('runs are shown below their folder if it has several', () => {
    const { runTable, runOrder, runGroups } = createPage(['p/a/train', 'p/a/eval', 'p/b/train']);
    const describe = (): string[] =>
      runTable.rows.map((row) =>
        row?.kind === 'run' ? runTable.getLabel(row) : `[${row?.label}]`,
      );
    expect(describe()).toEqual(['[a]', 'train', 'eval', 'b/train']);
    expect(runTable.rows[0]).toMatchObject({ names: ['p/a/train', 'p/a/eval'] });
    runGroups.setCollapsed('p/a/', true);
    expect(describe()).toEqual(['[a]', 'b/train']);
    runOrder.sortBy('points');
    expect(describe()).toEqual(['a/train', 'a/eval', 'b/train']);
  });

  test('a column without values takes no space but stays selected', () => {
    const { visibleColumns } = createPage(['a', 'b']);
    visibleColumns.add('note');
    expect(visibleColumns.selected).toContain('note');
    expect(visibleColumns.keys).not.toContain('note');
    visibleColumns.add('duration');
    expect(visibleColumns.keys).toContain('duration');
  });

  test('default columns give way to long names, chosen ones do not', () => {
    const page = createPage(['a-rather-long-name-of-a-run-1', 'a-rather-long-name-of-a-run-2']);
    expect(page.visibleColumns.keys).toEqual([]);
    page.runsPanel.resize(600);
    expect(page.visibleColumns.keys).toEqual(['start', 'points']);
    page.runsPanel.resize(320);
    page.visibleColumns.add('points');
    expect(page.visibleColumns.keys).toEqual(['points']);
    page.runsPanel.setTwoLines(true);
    expect(page.visibleColumns.keys).toEqual(['points']);
  });

  test('uncaught errors are collected until they are dismissed', () => {
    const { errors } = createPage();
    const stop = errors.start();
    browser.dispatch('error', { error: new TypeError('x is undefined') });
    browser.dispatch('unhandledrejection', { reason: new Error('later') });
    expect(errors.latest).toEqual({ message: 'later', count: 2 });
    browser.dispatch('error', { message: 'ResizeObserver loop completed' });
    browser.dispatch('unhandledrejection', { reason: new DOMException('', 'AbortError') });
    expect(errors.latest?.count).toBe(2);
    errors.dismiss();
    expect(errors.latest).toBeNull();
    stop();
  });
});

describe('url', () => {
  afterEach(() => {
    vi.unstubAllGlobals();
  });

  /** Count how often `read` runs: once now, and again after changes of what it reads. */
  function countReads(read: () => unknown): { readonly count: number; stop: () => void } {
    let count = 0;
    const stop = $effect.root(() => {
      $effect(() => {
        read();
        count++;
      });
    });
    return {
      get count() {
        flushSync();
        return count;
      },
      stop,
    };
  }

  test('a change notifies the readers of that parameter and of the whole query', () => {
    new BrowserStub('?filter=a');
    const url = new PageUrl();
    const stop = url.start();
    const [filter, order] = [url.param('filter', text, ''), url.param('order', text, '')];
    const reads = [() => filter.value, () => order.value, () => url.search].map(countReads);
    const counts = (): number[] => reads.map(({ count }) => count);

    expect(counts()).toEqual([1, 1, 1]);
    filter.set('b');
    expect(counts()).toEqual([2, 1, 2]);
    order.set('name');
    expect(counts()).toEqual([2, 2, 3]);
    expect(url.search).toBe('filter=b&order=name');
    for (const each of reads) each.stop();
    stop(); // cancels the pending change of the history
  });

  test('a link of TensorBoard opens its dashboard', () => {
    const browser = new BrowserStub('?smoothing=0.9');
    browser.location.hash = '#pr_curves';
    expect(new PageUrl().search).toBe('smoothing=0.9&tab=pr_curves');
    browser.location.search = '?tab=images';
    expect(new PageUrl().search).toBe('tab=images');
  });

  test('Back restores parameters and notifies their readers', async () => {
    const browser = new BrowserStub('?filter=a');
    const url = new PageUrl();
    const stop = url.start();
    const filter = url.param('filter', text, '');
    filter.set('b', 'push');
    await Promise.resolve();
    const reads = countReads(() => filter.value);

    expect(reads.count).toBe(1);
    browser.go(-1);
    expect(reads.count).toBe(2);
    expect(filter.value).toBe('a');
    reads.stop();
    stop();
  });
});

describe('live log', () => {
  const run = (name: string, points: number): RunRow => ({
    name,
    points,
    start_wall: null,
    last_wall: null,
    files: 1,
    bytes: 1,
    tags: 1,
    damaged: 0,
  });

  test('changed runs keep their place', () => {
    const before = [run('b', 5), run('a', 5)];
    const after = applyDelta(before, {
      added: [],
      removed: [],
      changed: [run('a', 6)],
    });
    expect(after.map(({ name, points }) => [name, points])).toEqual([
      ['b', 5],
      ['a', 6],
    ]);
  });

  test('added and removed runs keep the natural order', () => {
    const before = [run('run2', 5), run('run10', 5)];
    const after = applyDelta(before, {
      added: [run('run3', 1)],
      removed: ['run10'],
      changed: [run('run2', 6)],
    });
    expect(after.map(({ name, points }) => [name, points])).toEqual([
      ['run2', 6],
      ['run3', 1],
    ]);
    expect(before).toHaveLength(2);
  });
});

describe('connection status', () => {
  const now = new Date(2026, 2, 12, 15, 0, 0).getTime();
  const read: LoadStatus = {
    loading: false,
    problems: [],
    problem_count: 0,
    progress: { files_done: 4, files_total: 4, bytes_done: 10, bytes_total: 10 },
  };
  const input: ConnectionInput = {
    connection: 'open',
    paused: false,
    status: read,
    changedAt: null,
    lastPoint: null,
    now,
    exportedAt: null,
  };

  const describe = (part: Partial<ConnectionInput>): string => {
    const { kind, label, detail } = getConnectionStatus({ ...input, ...part });
    return `${kind}: ${label} ${detail}`.trim();
  };

  test('a recent point means live', () => {
    expect(describe({ changedAt: now - 2000 })).toBe('live: Live 2 s ago');
    expect(describe({ lastPoint: new Date(now - 5000) })).toBe('live: Live 5 s ago');
  });

  test('a writer with a clock ahead of ours has logged now', () => {
    expect(describe({ lastPoint: new Date(now + 60_000) })).toBe('live: Live just now');
  });

  test('a log without new points is idle', () => {
    expect(describe({ lastPoint: new Date(2026, 2, 12, 14, 2) })).toBe('idle: Idle since 14:02');
  });

  test('a log without points waits for the first', () => {
    expect(describe({})).toBe('live: Live no data yet');
  });

  test('loading shows progress', () => {
    const progress = { files_done: 1, files_total: 4, bytes_done: 1.2e9, bytes_total: 1.9e9 };
    const status = { ...read, loading: true, progress };
    expect(describe({ status })).toBe('loading: Loading… 1 of 4 files, 1.2 of 1.9 GB');
    expect(getConnectionStatus({ ...input, status }).progress).toBeCloseTo(0.63, 2);
    expect(getConnectionStatus({ ...input, status }).tooltip).toBe(
      'Read 1 of 4 files, 1.2 of 1.9 GB',
    );
  });

  test('paused updates are shown', () => {
    expect(describe({ paused: true, changedAt: now })).toBe('paused: Updates paused');
  });

  test('an unreachable server comes first', () => {
    expect(describe({ connection: 'lost' })).toBe('lost: Server unreachable reconnecting…');
    expect(describe({ connection: 'connecting', status: null })).toBe('connecting: Connecting…');
  });

  test('a static export shows when it was made', () => {
    const exportedAt = new Date(2026, 2, 12, 9, 30);
    expect(describe({ exportedAt, changedAt: now, paused: true })).toBe(
      'static: Static export exported 09:30',
    );
  });
});

describe('paged run list', () => {
  test.each([
    ['text', '', ''],
    ['text', ' conv  or ', '"conv" "or"'],
    ['text', 'a"b', '"a\\"b"'],
    ['regex', '^lr"(.*)', 'name ~ "^lr\\x22(.*)" or alias ~ "^lr\\x22(.*)"'],
    ['regex', 'a\\"\\d', 'name ~ "a\\x22\\d" or alias ~ "a\\x22\\d"'],
    ['expression', 'lr < 0.1', 'lr < 0.1'],
  ] as const)('a filter by %s of %j is sent as an expression', (mode, text, expected) => {
    expect(makeExpression(mode, text)).toBe(expected);
  });

  test('selections are sent as a number of the newest runs and exceptions', () => {
    const lists = { on: [], off: [] };
    expect(makeSelectionRequest(AUTO_SELECTION)).toEqual({ newest: 100, all_up_to: 500, ...lists });
    expect(makeSelectionRequest(makeSelection('all', [], ['a']))).toEqual({
      newest: null,
      on: [],
      off: ['a'],
    });
    expect(makeSelectionRequest(makeSelection('none', ['/conv']))).toEqual({
      newest: 0,
      on: ['/conv'],
      off: [],
    });
    expect(makeSelectionRequest(makeSelection({ newest: 20 }))).toEqual({ newest: 20, ...lists });
  });
});

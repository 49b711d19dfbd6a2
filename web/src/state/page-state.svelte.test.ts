import { flushSync } from 'svelte';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import type { DashboardRow, RunRow, TagRow } from '../api/schemas';
import type { BuiltInDashboard } from '../plugin/registry';
import { BrowserStub } from './browser-stub';
import { createPageState, type PageState, startPage } from './page-state.svelte';

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

test('a stopped page leaves no listeners and timers', () => {
  const stop = startPage(createPage());
  flushSync();
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
  await page.dashboards.refresh();
  expect(page.dashboards.entries.at(-1)).toMatchObject({ name: 'means', group: 'plugins' });
});

test('runs are shown below their folder if it has several', () => {
  const { runTable, runOrder, runGroups } = createPage(['p/a/train', 'p/a/eval', 'p/b/train']);
  const describe = (): string[] =>
    runTable.rows.map((row) => (row.kind === 'run' ? runTable.getLabel(row) : `[${row.label}]`));
  expect(describe()).toEqual(['[a]', 'train', 'eval', 'b/train']);
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

import * as common from '../../catalog/common';
import { computeStats, sortByValue, sortNatural } from '../../lib/arrays';
import { type Codec, list } from '../../lib/codecs';
import { formatValue } from '../../lib/format';
import {
  getPathPart,
  groupBy,
  type Grouping,
  groupingCodec,
  matchCapture,
} from '../../lib/grouping';
import {
  assignRunColors,
  getRunColor,
  interpolateColor,
  isEvaluationRun,
  RUN_COLORS,
} from '../../lib/run-colors';
import type { Param, UrlState } from '../../plugin/context';
import type { RunEntries, RunEntry, RunGroupRow, RunOrder, TableRow } from './run-entries.svelte';
import type { RunFilter } from './visible-runs.svelte';

type KeyReader = (entry: RunEntry) => string | null;

/** How runs are grouped in the table and in charts. */
export class RunGroups {
  readonly #entries: RunEntries;
  readonly #order: RunOrder;
  readonly #filter: RunFilter;
  readonly #grouping: Param<Grouping | null>;
  readonly #collapsed: Param<readonly string[]>;

  /** The group of every run, whether it matches the filter or not; null without grouping. */
  readonly keys: ReadonlyMap<string, string> | null = $derived.by(() => {
    const { grouping } = this;
    const { list } = this.#entries;
    if (grouping === null || list) return grouping && list && list.groupKeys;
    const readKey = makeKeyReader(grouping);
    return new Map(this.#entries.all.map((entry) => [entry.name, readKey(entry) ?? '']));
  });

  /** In natural order. The position gives a group its color, so the filter does not affect it. */
  readonly sortedKeys: readonly string[] = $derived.by(() =>
    this.keys === null ? [] : sortNatural(new Set(this.keys.values()), (key) => key),
  );

  readonly matching: readonly RunGroupRow[] = $derived.by(() => {
    const { keys } = this;
    if (keys === null) return [];
    const { list } = this.#entries;
    if (list) return list.groups;
    const buckets = groupBy(this.#filter.matching, ({ name }) => keys.get(name) || null);
    const groups = buckets.map(({ key, items }) => this.#describe(key ?? '', items));
    const { descending, key } = this.#order.sorting;
    if (key === 'name') return descending ? groups.toReversed() : groups;
    return sortByValue(groups, (group) => group.stats?.mean ?? null, descending);
  });

  constructor(url: UrlState, entries: RunEntries, order: RunOrder, filter: RunFilter) {
    this.#entries = entries;
    this.#order = order;
    this.#filter = filter;
    this.#grouping = url.param('group', groupingCodec, null);
    this.#collapsed = url.param('collapsed-groups', list, []);
  }

  get grouping(): Grouping | null {
    return this.#grouping.value;
  }

  groupBy(grouping: Grouping | null): void {
    this.#collapsed.set([]);
    this.#grouping.set(grouping, 'push');
  }

  /** Keys of collapsed groups or, in a large log, of those that are not. */
  get collapsedKeys(): readonly string[] {
    return this.#collapsed.value;
  }

  isCollapsed(key: string): boolean {
    return this.collapsedKeys.includes(key) !== this.#entries.isLarge;
  }

  setCollapsed(key: string, collapsed: boolean): void {
    const others = this.collapsedKeys.filter((other) => other !== key);
    this.#collapsed.set(collapsed !== this.#entries.isLarge ? [...others, key] : others);
  }

  setAllCollapsed(keys: readonly string[], collapsed: boolean): void {
    this.#collapsed.set(collapsed !== this.#entries.isLarge ? keys : []);
  }

  #describe(key: string, members: readonly RunEntry[]): RunGroupRow {
    const column = this.#order.sorting.key;
    const stats = column === 'name' ? null : computeStats(iterNumbers(members, column));
    const names = members.map(({ name }) => name);
    const label = key || common.other;
    return { kind: 'group', id: `group:${key}`, key, label, members, names, stats };
  }
}

function* iterNumbers(members: readonly RunEntry[], column: string): Iterable<number> {
  for (const member of members) {
    const value = member.getValue(column);
    if (typeof value === 'number') yield value;
  }
}

function makeKeyReader(grouping: Grouping): KeyReader {
  switch (grouping.by) {
    case 'path':
      return ({ name }) => getPathPart(name, grouping.part);
    case 'label':
      return ({ userNote }) => userNote.labels.join(', ') || null;
    case 'regex':
      return makeCaptureReader(grouping.pattern);
    case 'column':
      return (entry) => {
        const value = entry.getValue(grouping.key);
        if (value === null) return null;
        return typeof value === 'number' ? formatValue(value) : String(value);
      };
  }
}

function makeCaptureReader(text: string): KeyReader {
  try {
    const pattern = new RegExp(text);
    return ({ name }) => matchCapture(pattern, name);
  } catch {
    // The form reports what is wrong with the pattern.
    return () => null;
  }
}

/** The rows of the table. */
export class RunTable {
  readonly #entries: RunEntries;
  readonly #order: RunOrder;
  readonly #filter: RunFilter;
  readonly #groups: RunGroups;

  /** Runs sorted by name are shown below rows for their folders, unless they are grouped. */
  readonly hasFolders: boolean = $derived.by(
    () =>
      this.#groups.keys === null && this.#order.sorting.key === 'name' && this.#entries.hasFolders,
  );

  /** Whether rows are below a row of a group or folder. */
  readonly isTree: boolean = $derived.by(() => this.#groups.keys !== null || this.hasFolders);

  readonly #groupedRows: readonly TableRow[] = $derived.by(() => {
    if (this.#groups.keys !== null) return this.#groups.matching;
    return this.hasFolders ? this.#listFolders() : this.#filter.matching;
  });

  /** Undefined for those of a large log that are not loaded. */
  readonly rows: readonly (TableRow | undefined)[] = $derived.by(() => {
    const { list } = this.#entries;
    if (list) return list.rows;
    if (!this.isTree) return this.#groupedRows;
    return this.#groupedRows.flatMap((row): TableRow[] =>
      row.kind === 'run' || this.#groups.isCollapsed(row.key) ? [row] : [row, ...row.members],
    );
  });

  /** Another object whenever the user changes filter, order or groups. */
  readonly arrangement: object = $derived.by(() => ({
    sorting: this.#order.sorting,
    grouping: this.#groups.grouping,
    collapsed: this.#groups.collapsedKeys,
    filter: [this.#filter.mode, this.#filter.text, this.#filter.showsHidden],
  }));

  constructor(entries: RunEntries, order: RunOrder, filter: RunFilter, groups: RunGroups) {
    this.#entries = entries;
    this.#order = order;
    this.#filter = filter;
    this.#groups = groups;
  }

  /** Return the text of a run's row, without what the header or the row of its folder shows. */
  getLabel(run: RunEntry): string {
    return this.hasFolders ? this.#entries.getLabelInFolder(run) : this.#entries.getShortLabel(run);
  }

  /** Return whether a run is below a row of a group or folder. */
  isNested(run: RunEntry): boolean {
    if (this.#groups.keys !== null) return true;
    return this.hasFolders && this.#entries.findFolder(run) !== null;
  }

  /** Load a row of a large log. */
  load(index: number): void {
    this.#entries.list?.load(index);
  }

  setAllCollapsed(collapsed: boolean): void {
    const keys = this.#groupedRows.flatMap((row) => (row.kind === 'group' ? [row.key] : []));
    this.#groups.setAllCollapsed(keys, collapsed);
  }

  /** Runs without a shared folder and folders, in the order of their first run. */
  #listFolders(): TableRow[] {
    const members = new Map<string, RunEntry[]>();
    const order: (RunEntry | string)[] = [];
    for (const entry of this.#filter.matching) {
      const folder = this.#entries.findFolder(entry);
      const known = folder === null ? undefined : members.get(folder);
      if (known) known.push(entry);
      else order.push(folder ?? entry);
      if (folder !== null && !known) members.set(folder, [entry]);
    }
    return order.map((item) =>
      typeof item === 'string' ? this.#describeFolder(item, members.get(item) ?? []) : item,
    );
  }

  #describeFolder(folder: string, members: readonly RunEntry[]): RunGroupRow {
    const label = folder.slice(this.#entries.commonFolder.length, -1);
    const names = members.map(({ name }) => name);
    return {
      kind: 'group',
      id: `folder:${folder}`,
      key: folder,
      label,
      members,
      names,
      stats: null,
    };
  }
}

/** What determines the color of a run. */
type ColorBy =
  | { readonly by: 'run' | 'group' }
  | { readonly by: 'regex'; readonly pattern: string }
  | { readonly by: 'column'; readonly key: string };

const DASHED = [5, 4];
const SOLID: readonly number[] = [];
/** For runs without a value of the column or pattern. */
const NEUTRAL_COLOR = '#7d7d8a';

export const colorByCodec: Codec<ColorBy> = {
  parse(text) {
    if (text.startsWith('re:')) return { by: 'regex', pattern: text.slice(3) };
    if (text === 'run' || text === 'group') return { by: text };
    return { by: 'column', key: text };
  },
  format(value) {
    if (value.by === 'regex') return `re:${value.pattern}`;
    return value.by === 'column' ? value.key : value.by;
  },
};

type ColorReader = (entry: RunEntry) => string;

/** Colors and dashes of runs and groups, the same in all dashboards. */
export class RunColors {
  readonly #entries: RunEntries;
  readonly #groups: RunGroups;
  readonly #by: Param<ColorBy>;

  /** Colors of the oldest runs; others have a color that depends on the name only. */
  readonly #assigned = $derived.by(() =>
    this.#entries.isLarge
      ? new Map<string, string>()
      : assignRunColors(this.#entries.newestFirst.toReversed().map((entry) => entry.name)),
  );
  readonly #reader = $derived.by(() => this.#makeReader(this.by));
  readonly #groupColors = $derived.by(() => makePalette(this.#groups.sortedKeys.filter(Boolean)));

  constructor(url: UrlState, entries: RunEntries, groups: RunGroups) {
    this.#entries = entries;
    this.#groups = groups;
    this.#by = url.param<ColorBy>('color', colorByCodec, { by: 'run' });
  }

  get by(): ColorBy {
    return this.#by.value;
  }

  setColorBy(by: ColorBy): void {
    this.#by.set(by, 'push');
  }

  /** Return the color that the user chose for the run, or the one by the setting. */
  getColor(entry: RunEntry): string {
    return entry.userNote.color || this.#reader(entry);
  }

  getGroupColor(key: string): string {
    const { list } = this.#entries;
    return (list ? list.getGroupColor(key) : this.#groupColors.get(key)) ?? NEUTRAL_COLOR;
  }

  getDash(name: string): readonly number[] {
    return isEvaluationRun(name) ? DASHED : SOLID;
  }

  #getDefaultColor(name: string): string {
    return this.#assigned.get(name) ?? getRunColor(name);
  }

  #makeReader(by: ColorBy): ColorReader {
    // The runs in charts determine the scale of a large log, not those that happen to be loaded.
    const entries = this.#entries.list?.visible ?? this.#entries.all;
    switch (by.by) {
      case 'run':
        return ({ name }) => this.#getDefaultColor(name);
      case 'group': {
        const { keys } = this.#groups;
        if (keys === null) return ({ name }) => this.#getDefaultColor(name);
        return ({ name }) => this.getGroupColor(keys.get(name) ?? '');
      }
      case 'regex':
        return colorByCapture(by.pattern, entries);
      case 'column':
        return colorByColumn(by.key, entries);
    }
  }
}

function colorByCapture(text: string, entries: readonly RunEntry[]): ColorReader {
  try {
    const pattern = new RegExp(text);
    const captures = new Map(entries.map(({ name }) => [name, matchCapture(pattern, name)]));
    const palette = makePalette([...captures.values()].filter((key) => key !== null));
    return ({ name }) => palette.get(captures.get(name) ?? '') ?? NEUTRAL_COLOR;
  } catch {
    return () => NEUTRAL_COLOR;
  }
}

function colorByColumn(key: string, entries: readonly RunEntry[]): ColorReader {
  const values = entries.map((entry) => entry.getValue(key)).filter((value) => value !== null);
  if (values.every((value) => typeof value === 'number')) return colorByNumber(key, values);
  const palette = makePalette(values.map(String));
  return (entry) => palette.get(String(entry.getValue(key))) ?? NEUTRAL_COLOR;
}

/** Shades between the lowest and the highest value; logarithmic for values far apart. */
function colorByNumber(key: string, values: readonly number[]): ColorReader {
  const finite = values.filter(Number.isFinite);
  const low = finite.reduce((a, b) => Math.min(a, b), Infinity);
  const high = finite.reduce((a, b) => Math.max(a, b), -Infinity);
  const scale = low > 0 && high / low > 50 ? Math.log : (value: number): number => value;
  const extent = scale(high) - scale(low) || 1;
  return (entry) => {
    const value = entry.getValue(key);
    if (typeof value !== 'number' || !Number.isFinite(value)) return NEUTRAL_COLOR;
    return interpolateColor((scale(value) - scale(low)) / extent);
  };
}

/** Return a color for each key, by its position in natural order. */
function makePalette(keys: Iterable<string>): Map<string, string> {
  return new Map(
    sortNatural(new Set(keys), (key) => key).map((key, index) => [
      key,
      RUN_COLORS[index % RUN_COLORS.length] ?? NEUTRAL_COLOR,
    ]),
  );
}

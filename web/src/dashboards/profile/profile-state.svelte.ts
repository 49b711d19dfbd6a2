/** State of the Profile dashboard: the capture, its tools, and what they share. */
import { type Component, createContext } from 'svelte';

import type { Query } from '../../api/create-query.svelte';
import type { QueryDefinition } from '../../api/query-definition';
import type {
  CaptureRequest,
  CaptureRow,
  Comparison,
  OpeningResponse,
  Problem,
  StepRules,
  ToolRow,
  ToolsResponse,
} from '../../api/schemas';
import type { MenuItem } from '../../components/MenuItems.svelte';
import type { Codec } from '../../lib/codecs';
import type { Context, Param } from '../../plugin/context';
import {
  makeCaptureRequest,
  openProfileParams,
  type ProfileParams,
  type TraceLocation,
} from './captures';
import { capturesQuery, comparisonQuery, progressQuery, toolsQuery } from './query';
import { EMPTY_SELECTION } from './trace/timeline/timeline-layout';

/** A tab of the dashboard. Its code is loaded when it is opened. */
export interface Tool {
  /** The name in the URL and on the server. */
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** Available only while captures are compared. */
  readonly needsBaseline?: boolean;
  /** Not available in a static export. */
  readonly needsServer?: boolean;
  load(): Promise<{ readonly default: Component }>;
}

/** The captures of the log, and which of them are selected. */
export class CaptureList {
  readonly query: Query<readonly CaptureRow[]>;
  readonly #context: Context;
  readonly #params: ProfileParams;

  constructor(context: Context, params: ProfileParams) {
    this.#context = context;
    this.#params = params;
    this.query = context.query(capturesQuery, () => ({}));
  }

  readonly rows = $derived.by<readonly CaptureRow[]>(() => this.query.data ?? []);

  /** The capture in the URL, else the newest trace of the visible runs. */
  readonly current = $derived.by<CaptureRow | undefined>(() => {
    const selected = this.#find(this.#params.capture.value);
    if (selected) return selected;
    const { visible } = this.#context.runs;
    const shown = this.rows.filter(({ run }) => visible.some(({ name }) => name === run));
    const isTrace = ({ kind }: CaptureRow): boolean => kind === 'xplane' || kind === 'chrome';
    return (
      findNewest(shown.filter(isTrace)) ??
      findNewest(this.rows.filter(isTrace)) ??
      findNewest(shown) ??
      findNewest(this.rows)
    );
  });

  /** The newest capture before the current one, of the same run or of a run in the same folder. */
  readonly previous = $derived.by<CaptureRow | undefined>(() => {
    const { current } = this;
    if (!current) return undefined;
    const older = this.rows.filter(({ wall_s }) => wall_s < current.wall_s);
    const folder = getParentFolder(current.run);
    return (
      findNewest(older.filter(({ run }) => run === current.run)) ??
      findNewest(older.filter(({ run }) => folder !== '' && getParentFolder(run) === folder))
    );
  });

  /** The capture to compare with. */
  readonly baseline = $derived.by<CaptureRow | undefined>(() => {
    const selected = this.#find(this.#params.baseline.value);
    return selected === this.current ? undefined : selected;
  });

  /** The selected host; empty for the first. */
  readonly host = $derived.by(() => {
    const selected = this.#params.host.value;
    return this.current?.hosts.some(({ name }) => name === selected) ? selected : '';
  });

  select(id: string): void {
    const { capture, baseline, host, marker } = this.#params;
    capture.set(id, 'push');
    if (baseline.value === id) baseline.set('');
    for (const param of [host, marker]) param.set('');
    this.#resetTrace();
  }

  selectHost(name: string): void {
    this.#params.host.set(name, 'push');
    this.#resetTrace();
  }

  /** Forget what refers to events and tracks of another trace. */
  #resetTrace(): void {
    const { event, span, measured, pinned, hidden, toggled } = this.#params;
    for (const param of [span, measured]) param.set(null);
    for (const param of [pinned, hidden, toggled]) param.set([]);
    event.set(null);
  }

  setBaseline(id: string): void {
    this.#params.baseline.set(id, 'push');
  }

  /** Exchange the current and the baseline capture. */
  swap(): void {
    const { current, baseline } = this;
    if (!current || !baseline) return;
    this.select(baseline.id);
    this.setBaseline(current.id);
  }

  async upload(file: File): Promise<void> {
    const { queries } = this.#context;
    const row = await queries.mutate('POST profile/upload', { name: file.name, body: file });
    queries.set(capturesQuery, {}, [...this.rows, row]);
    // The server keeps a few uploads only: the oldest may be gone.
    queries.invalidate(capturesQuery);
    this.select(row.id);
  }

  #find(id: string): CaptureRow | undefined {
    return this.rows.find((row) => row.id === id);
  }
}

function getParentFolder(run: string): string {
  return run.slice(0, Math.max(0, run.lastIndexOf('/')));
}

function findNewest(rows: readonly CaptureRow[]): CaptureRow | undefined {
  return rows.reduce<CaptureRow | undefined>(
    (newest, row) => (newest && newest.wall_s >= row.wall_s ? newest : row),
    undefined,
  );
}

/** Most captures are read sooner than this, without a progress bar. */
const PROGRESS_DELAY_MS = 300;

/** A tool without data, and why it has none. */
export interface EmptyTool extends ToolRow {
  readonly title: string;
}

/** Has the server read the current capture, and lists the tools that have data. */
export class CaptureLoader {
  readonly query: Query<ToolsResponse>;
  readonly #progress: Query<OpeningResponse>;
  readonly #tools: readonly Tool[];
  readonly #profile: ProfileState;

  constructor(profile: ProfileState, tools: readonly Tool[]) {
    this.#tools = tools;
    this.#profile = profile;
    const { context } = profile;
    // The tools do not depend on how steps are found.
    const request = $derived.by(() => {
      const { capture, host, version } = profile.request;
      if (capture === '') return null;
      return makeCaptureRequest({ capture, host: host ?? '', version: version ?? null });
    });
    this.query = context.query(toolsQuery, () => request, { keepPrevious: false });
    const canFollow = context.supports(progressQuery.route);
    this.#progress = context.query(
      progressQuery,
      () => (canFollow && this.query.isLoading ? request : null),
      { debounceMs: PROGRESS_DELAY_MS, keepPrevious: false },
    );
  }

  /** Null until the server has reported any progress. */
  readonly progress = $derived.by(() => this.#progress.data ?? null);

  readonly availableTools = $derived.by<readonly Tool[]>(() => {
    const rows = this.query.data?.tools ?? [];
    const hasData = (name: string): boolean =>
      rows.some((row) => row.name === name && row.empty_reason === null);
    const { baseline, canAnalyze } = this.#profile;
    return this.#tools.filter(({ name, needsBaseline, needsServer = false }) => {
      if (needsServer && !canAnalyze) return false;
      return needsBaseline ? baseline !== null : hasData(name);
    });
  });

  readonly emptyTools = $derived.by<readonly EmptyTool[]>(() => {
    const rows = this.query.data?.tools ?? [];
    return rows.flatMap((row) => {
      const tool = this.#tools.find(
        ({ name, needsBaseline }) => name === row.name && !needsBaseline,
      );
      return tool && row.empty_reason ? [{ ...row, title: tool.title }] : [];
    });
  });

  /** The tool in the URL, else the first that has data. */
  readonly currentTool = $derived.by<Tool | undefined>(() => {
    const selected = this.#profile.params.tool.value;
    return this.availableTools.find(({ name }) => name === selected) ?? this.availableTools[0];
  });
}

/** Responses about the current and the baseline capture. */
export interface ComparedData<Data> {
  readonly current: Data;
  /** Null without a baseline, and until its response arrives. */
  readonly baseline: Data | null;
}

/** The same query about the current and the baseline capture. */
export class ComparedQuery<Data> {
  readonly #current: Query<Data>;
  readonly #baseline: Query<Data>;

  constructor(current: Query<Data>, baseline: Query<Data>) {
    this.#current = current;
    this.#baseline = baseline;
  }

  readonly data = $derived.by<ComparedData<Data> | undefined>(() => {
    const current = this.#current.data;
    return current === undefined ? undefined : { current, baseline: this.#baseline.data ?? null };
  });

  get error(): { readonly problem: Problem } | null {
    return this.#current.error ?? this.#baseline.error;
  }

  get isLoading(): boolean {
    return this.#current.isLoading || this.#baseline.isLoading;
  }

  retry(): void {
    for (const query of [this.#current, this.#baseline]) if (query.error) query.retry();
  }
}

/** What all tools share: the selected captures, and queries about them. */
export class ProfileState {
  readonly context: Context;
  readonly params: ProfileParams;
  readonly captures: CaptureList;
  readonly loader: CaptureLoader;
  /** Image exports of the current tool. */
  imageExports = $state.raw<readonly MenuItem[]>([]);
  /** Why the last export failed. */
  exportError = $state.raw<Problem | null>(null);

  /** `tools` are in display order; the server says which of them have data. */
  constructor(context: Context, tools: readonly Tool[]) {
    this.context = context;
    this.params = openProfileParams(context);
    this.captures = new CaptureList(context, this.params);
    this.loader = new CaptureLoader(this, tools);
  }

  /** The current capture; tools are only mounted while there is one. */
  get capture(): CaptureRow {
    const { current } = this.captures;
    if (!current) throw new Error('No capture is selected.');
    return current;
  }

  get baseline(): CaptureRow | null {
    return this.captures.baseline ?? null;
  }

  /** Whether a capture can be analyzed with other settings; a static export has only the defaults. */
  get canAnalyze(): boolean {
    return this.context.supports('GET profile/file');
  }

  readonly request = $derived.by<CaptureRequest>(() => {
    const { current, host } = this.captures;
    return this.#makeRequest(current, host);
  });

  readonly baselineRequest = $derived.by<CaptureRequest | null>(() => {
    const { baseline } = this.captures;
    return baseline ? this.#makeRequest(baseline, '') : null;
  });

  /** Whether events can be shown in the trace tool. */
  readonly hasTrace = $derived.by(() =>
    this.loader.availableTools.some(({ name }) => name === 'trace'),
  );

  /** Return a URL parameter of a tool. */
  param<Value>(name: string, codec: Codec<Value>, fallback: Value): Param<Value> {
    return this.context.url.param(`p-${name}`, codec, fallback);
  }

  getRunLabel = (run: string): string => this.context.runs.find(run)?.label ?? run;

  /**
   * Follow a query about both captures, while `isEnabled` is true. Call it where effects can be
   * created.
   */
  queryBoth<Data>(
    definition: QueryDefinition<CaptureRequest, Data>,
    isEnabled: () => boolean = () => true,
  ): ComparedQuery<Data> {
    return new ComparedQuery(
      this.context.query(definition, () => (isEnabled() ? this.request : null)),
      this.context.query(definition, () => (isEnabled() ? this.baselineRequest : null)),
    );
  }

  /** Follow the comparison of both captures. Call it where effects can be created. */
  queryComparison(): Query<Comparison> {
    return this.context.query(comparisonQuery, () => {
      const before = this.baselineRequest?.capture;
      return before === undefined ? null : { ...this.request, baseline: before };
    });
  }

  openTool(tool: string): void {
    this.params.tool.set(tool, 'push');
  }

  showInTrace({
    event = null,
    span = null,
    query = '',
    marksRows = false,
  }: Partial<TraceLocation>): void {
    this.params.selection.set(EMPTY_SELECTION);
    this.params.marksRows.set(marksRows);
    this.params.event.set(event);
    this.params.span.set(span);
    this.params.find.set(query);
    for (const option of [this.params.findRegex, this.params.findArguments]) option.set(false);
    this.openTool('trace');
  }

  /** The rules that the server applies: those of xprof only to captures without a device. */
  get rules(): StepRules {
    return this.loader.query.data?.has_xprof_rules === false ? 'ours' : this.params.rules.value;
  }

  #makeRequest(row: CaptureRow | undefined, host: string): CaptureRequest {
    return makeCaptureRequest({
      capture: row?.id ?? '',
      host,
      marker: this.params.marker.value,
      rules: this.params.rules.value,
      thresholds: this.params.thresholds.value,
      version: row?.version ?? null,
    });
  }
}

export const [getProfile, setProfile] = createContext<ProfileState>();

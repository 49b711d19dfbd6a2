import { createContext, untrack } from 'svelte';

import { ListQuery, Query } from '../../api/query.svelte';
import type { MenuItem } from '../../components/menu';
import type { Codec } from '../../lib/codecs';
import type { Context, Param } from '../../plugin/context';
import {
  type CaptureRequest,
  DEFAULT_STEP_RULES,
  makeRequestPath,
  openProfileParams,
  type ProfileParams,
  type RequestFields,
  type TraceLocation,
} from './captures';
import type {
  CaptureRow,
  CapturesResponse,
  OpeningResponse,
  ToolRow,
  ToolsResponse,
} from './schemas';
import { type Tool, TOOLS } from './tools';

/** All captures of the log, and which of them are looked at. */
export class CaptureList extends ListQuery<CaptureRow> {
  readonly #context: Context;
  readonly #params: ProfileParams;

  constructor(context: Context, params: ProfileParams) {
    super(async (signal) => (await context.api.get<CapturesResponse>('captures', signal)).captures);
    this.#context = context;
    this.#params = params;
  }

  /** The one that the address names, else the newest of the runs that are shown. */
  readonly current = $derived.by<CaptureRow | undefined>(() => {
    const named = this.find(this.#params.capture.value);
    if (named) return named;
    const { visible } = this.#context.runs;
    const seen = this.rows.filter(({ run }) => visible.some(({ name }) => name === run));
    return findNewest(seen) ?? findNewest(this.rows);
  });

  /** The newest that is older than the one that is looked at, of the same run or one beside it. */
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

  /** The one that it is compared with. */
  readonly baseline = $derived.by<CaptureRow | undefined>(() => {
    const found = this.find(this.#params.before.value);
    return found === this.current ? undefined : found;
  });

  readonly host = $derived.by(() => {
    const wanted = this.#params.host.value;
    return this.current?.hosts.some(({ name }) => name === wanted) ? wanted : '';
  });

  select(id: string): void {
    const { capture, before, host, marker, event, span } = this.#params;
    capture.set(id, 'push');
    if (before.value === id) before.set('');
    for (const param of [host, marker]) param.set('');
    event.set(null);
    span.set(null);
  }

  setBaseline(id: string): void {
    this.#params.before.set(id, 'push');
  }

  /** The two change places: what was now is before. */
  swap(): void {
    const { current, baseline } = this;
    if (!current || !baseline) return;
    this.select(baseline.id);
    this.setBaseline(current.id);
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

/** How often it is asked how far the server has read a large capture. */
const PROGRESS_POLL_MS = 300;

/** Which tools there are does not depend on how steps are found. */
const STEP_INDEPENDENT_FIELDS = { marker: '', rules: DEFAULT_STEP_RULES, thresholds: '' };

/** The capture is read, and it is known which tools have something to show of it. */
export class CaptureLoader {
  readonly toolsQuery = new Query<ToolsResponse>();
  /** How far it is, while it takes longer than a moment. */
  progress = $state.raw<OpeningResponse | null>(null);
  readonly #profile: ProfileState;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #looking = new AbortController();

  constructor(profile: ProfileState) {
    this.#profile = profile;
  }

  /** Those that have something to show. */
  readonly availableTools = $derived.by<readonly Tool[]>(() => {
    const rows = this.toolsQuery.data?.tools ?? [];
    const isFull = (name: string): boolean => rows.some((row) => row.name === name && !row.why);
    return TOOLS.filter(({ name, needsBaseline }) =>
      needsBaseline ? this.#profile.baseline !== null : isFull(name),
    );
  });

  /** Those that have nothing, and why. */
  readonly emptyTools = $derived.by<readonly ToolRow[]>(() => {
    const isOurs = ({ name, why }: ToolRow): boolean =>
      why !== '' && TOOLS.some((tool) => tool.name === name && !tool.needsBaseline);
    return this.toolsQuery.data?.tools.filter(isOurs) ?? [];
  });

  /** The tool that the address names; the first of a capture that has no such tool. */
  readonly currentTool = $derived.by<Tool | undefined>(() => {
    const wanted = this.#profile.params.tool.value;
    return this.availableTools.find(({ name }) => name === wanted) ?? this.availableTools[0];
  });

  /** The same text for as long as the trace is the same, however its steps are found. */
  readonly #question = $derived.by(() =>
    makeRequestPath('tools', { ...this.#profile.request, ...STEP_INDEPENDENT_FIELDS }),
  );

  watch(): void {
    $effect(() => {
      void this.#question;
      untrack(() => this.retry());
    });
    $effect(() => () => this.#stop());
  }

  retry(): void {
    this.#stop();
    const { capture, host } = this.#profile.request;
    if (capture === '') return;
    const question = this.#question;
    this.toolsQuery.run((signal) => this.#profile.api.get<ToolsResponse>(question, signal));
    const ask = { capture, host, ...STEP_INDEPENDENT_FIELDS, mark: null };
    this.#timer = setTimeout(() => void this.#look(ask, this.#looking.signal), PROGRESS_POLL_MS);
  }

  /** Asks how far it is until the tools are known. */
  async #look(ask: CaptureRequest, signal: AbortSignal): Promise<void> {
    if (!this.toolsQuery.loading) return;
    try {
      this.progress = await this.#profile.fetch<OpeningResponse>('opening', {}, ask, signal);
    } catch {
      // Whatever is wrong, the question that is waited for will say it.
    }
    if (!signal.aborted)
      this.#timer = setTimeout(() => void this.#look(ask, signal), PROGRESS_POLL_MS);
  }

  #stop(): void {
    clearTimeout(this.#timer);
    this.#looking.abort();
    this.#looking = new AbortController();
    this.toolsQuery.stop();
    this.progress = null;
  }
}

/** What a tool was told of the capture, and of the one that it is compared with. */
export interface ComparedResponse<Answer> {
  readonly current: Answer;
  readonly baseline: Answer | null;
}

/** All that tools share: which captures are looked at, and how the server is asked about them. */
export class ProfileState {
  readonly context: Context;
  readonly params: ProfileParams;
  readonly captures: CaptureList;
  readonly loader: CaptureLoader;
  /** Pictures that can be taken away of the tool that is open. */
  imageExports = $state.raw<readonly MenuItem[]>([]);

  constructor(context: Context) {
    this.context = context;
    this.params = openProfileParams(context);
    this.captures = new CaptureList(context, this.params);
    this.loader = new CaptureLoader(this);
  }

  get api(): Context['api'] {
    return this.context.api;
  }

  /** The capture that is looked at; tools exist only while there is one. */
  get capture(): CaptureRow {
    const { current } = this.captures;
    if (!current) throw new Error('there is no capture to look at');
    return current;
  }

  get baseline(): CaptureRow | null {
    return this.captures.baseline ?? null;
  }

  readonly request = $derived.by<CaptureRequest>(() => {
    const { current, host } = this.captures;
    return this.#askOf(current, host);
  });

  readonly baselineRequest = $derived.by<CaptureRequest | null>(() => {
    const { baseline } = this.captures;
    return baseline ? this.#askOf(baseline, '') : null;
  });

  readonly spot = $derived.by(() => {
    const { event, span, find } = this.params;
    return { event, span, find };
  });

  /** Whether events can be looked at one by one. */
  readonly hasTrace = $derived.by(() =>
    this.loader.availableTools.some(({ name }) => name === 'trace'),
  );

  /** A value of a tool in the address. */
  param<Value>(name: string, codec: Codec<Value>, fallback: Value): Param<Value> {
    return this.context.url.param(`p-${name}`, codec, fallback);
  }

  /** Asks about one of the captures. */
  fetch<Answer>(
    path: string,
    more: RequestFields = {},
    ask: CaptureRequest = this.request,
    signal?: AbortSignal,
  ): Promise<Answer> {
    return this.api.get<Answer>(makeRequestPath(path, ask, more), signal);
  }

  /**
   * The answers about both captures, asked for again whenever a capture, its steps or `more`
   * changes; to be called where effects live.
   */
  queryBoth<Answer>(
    path: string,
    more: () => RequestFields = () => ({}),
  ): Query<ComparedResponse<Answer>> {
    return this.#follow(() => {
      const [extra, ask, other] = [more(), this.request, this.baselineRequest];
      return async (signal) => {
        const current = this.fetch<Answer>(path, extra, ask, signal);
        const baseline = other ? this.fetch<Answer>(path, extra, other, signal) : null;
        return { current: await current, baseline: await baseline };
      };
    });
  }

  /** One answer about both captures; none while nothing is compared. */
  queryComparison<Answer>(path: string): Query<Answer> {
    return this.#follow(() => {
      const [ask, other] = [this.request, this.baselineRequest];
      if (!other) return null;
      return (signal) => this.fetch<Answer>(path, { before: other.capture }, ask, signal);
    });
  }

  /** Opens a tool. */
  openTool(tool: string): void {
    this.params.tool.set(tool, 'push');
  }

  /** Opens the trace where something can be seen. */
  showInTrace({ event = null, span = null, query = '' }: Partial<TraceLocation>): void {
    this.params.event.set(event);
    this.params.span.set(span);
    this.params.find.set(query);
    for (const how of [this.params.findRegex, this.params.findArguments]) how.set(false);
    this.openTool('trace');
  }

  /** Keeps what is known of captures in step with the log; to be called where effects live. */
  watch(): void {
    $effect(() => {
      this.context.live.getRevision(null);
      void untrack(() => this.captures.load());
    });
    this.loader.watch();
  }

  /** What is asked changes with whatever the making of the question looks at. */
  #follow<Answer>(
    question: () => ((signal: AbortSignal) => Promise<Answer>) | null,
  ): Query<Answer> {
    const asking = new Query<Answer>();
    $effect(() => {
      const asked = question();
      untrack(() => asking.run(asked, true));
    });
    $effect(() => () => asking.stop());
    return asking;
  }

  #askOf(row: CaptureRow | undefined, host: string): CaptureRequest {
    const [marker, rules] = [this.params.marker.value, this.params.rules.value];
    const capture = row?.id ?? '';
    // A copy knows a capture by one name, and its answers are what they are.
    if (this.context.isStatic) return { capture, host, marker, rules, thresholds: '', mark: null };
    const thresholds = this.params.thresholds.value;
    return { capture, host, marker, rules, thresholds, mark: row?.mark ?? null };
  }
}

export const [getProfile, setProfile] = createContext<ProfileState>();

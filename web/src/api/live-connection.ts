/** Follow the changes of a log: an event stream that reconnects, or polling. */
import { apiRequest } from './client';
import type { DeltaEvent, LoadStatus, PingEvent, PollResponse } from './schemas';

export interface LiveHandlers {
  readonly onOpen: () => void;
  readonly onLost: () => void;
  readonly onStatus: (status: LoadStatus) => void;
  readonly onDelta: (delta: DeltaEvent) => void;
  /** The server cannot say what changed since the cursor: reload everything. */
  readonly onReset: (cursor: string) => void;
  /** Any other event of the server, by its name. */
  readonly onEvent: (name: string, body: unknown) => void;
}

/** The log to follow, and the cursor up to which its changes are known. */
export interface LiveSource {
  /** URL of the server with a trailing slash; empty in the page itself. */
  readonly baseUrl: string;
  cursor: string;
}

/**
 * How a stream ended: `unheard` when it failed before the first event, `silent` when no event came
 * for too long, `broken` when it failed later.
 */
export type StreamEnd = 'unheard' | 'silent' | 'broken';

/** Opens a stream; returns a function that closes it. `onEnd` is called at most once, asynchronously. */
export type StreamOpener = (
  source: LiveSource,
  handlers: LiveHandlers,
  onEnd: (end: StreamEnd) => void,
) => () => void;

const RETRY_MS = 2000;
const RETRY_STREAM_MS = 30_000;

/**
 * Follows the changes of a log through a stream and reconnects automatically. After `maxFailures`
 * streams in a row without an event it polls, and tries a stream again every 30 seconds.
 */
export class LiveConnection {
  readonly #source: LiveSource;
  readonly #handlers: LiveHandlers;
  readonly #open: StreamOpener;
  readonly #maxFailures: number;
  #failures = 0;
  #close: (() => void) | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(source: LiveSource, handlers: LiveHandlers, open: StreamOpener, maxFailures: number) {
    this.#source = source;
    this.#handlers = handlers;
    this.#open = open;
    this.#maxFailures = maxFailures;
  }

  stop(): void {
    this.#close?.();
    this.#close = undefined;
    clearTimeout(this.#timer);
  }

  /** Connect or reconnect, starting at the cursor of the source. */
  start(): void {
    this.stop();
    this.#close = this.#open(this.#source, this.#handlers, (end) => this.#retry(end));
  }

  #retry(end: StreamEnd): void {
    this.#failures = end === 'unheard' ? this.#failures + 1 : 0;
    if (this.#failures >= this.#maxFailures) {
      this.#poll();
    } else if (end === 'silent') {
      // Usually a computer that was asleep. A new stream shows whether the server is reachable.
      this.start();
    } else {
      this.#handlers.onLost();
      this.#timer = setTimeout(() => this.start(), RETRY_MS);
    }
  }

  #poll(): void {
    this.stop();
    this.#timer = setTimeout(() => this.start(), RETRY_STREAM_MS);
    this.#close = startPolling(this.#source, this.#handlers, (wasLost) => {
      // The streams failed because the server was down; it is back.
      if (wasLost) this.start();
    });
  }
}

const POLL_MS = 1000;
const RETRY_POLL_MS = 2000;

/** Request the changes since the cursor of the source. */
export function poll(
  { baseUrl, cursor }: LiveSource,
  lastEvent: number | null = null,
  signal?: AbortSignal,
): Promise<PollResponse> {
  const query = { since: cursor, ...(lastEvent === null ? {} : { last_event: `${lastEvent}` }) };
  const path = `${baseUrl}api/v1/live/poll?${new URLSearchParams(query)}`;
  return apiRequest(path, signal ? { signal } : {});
}

/**
 * Poll until the returned function is called. `onResponse` is called after each response and gets
 * whether the request before it failed.
 */
export function startPolling(
  source: LiveSource,
  handlers: LiveHandlers,
  onResponse: (wasLost: boolean) => void,
): () => void {
  const abort = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let lastEvent: number | null = null;
  let isLost = false;

  async function pollAgain(): Promise<void> {
    try {
      apply(await poll(source, lastEvent, abort.signal));
    } catch {
      if (abort.signal.aborted) return;
      isLost = true;
      handlers.onLost();
    }
    if (!abort.signal.aborted) timer = setTimeout(pollAgain, isLost ? RETRY_POLL_MS : POLL_MS);
  }

  function apply(response: PollResponse): void {
    const wasLost = isLost;
    isLost = false;
    lastEvent = response.last_event;
    source.cursor = response.cursor;
    handlers.onOpen();
    handlers.onStatus(response.status);
    for (const { name, data } of response.events) handlers.onEvent(name, data);
    if (response.reset) handlers.onReset(response.cursor);
    else if (response.delta !== null) handlers.onDelta(response.delta);
    onResponse(wasLost);
  }

  void pollAgain();
  return () => {
    abort.abort();
    clearTimeout(timer);
  };
}

/** The server sends the first event immediately. */
const FIRST_EVENT_MS = 5000;
/** Interval of pings until the first one, which contains it. */
const PING_INTERVAL_MS = 15_000;
/** A stream ends after this many intervals without an event. */
const SILENT_INTERVALS = 3;

/** Events that are not about the runs. */
const EVENT_NAMES = ['alert', 'notes', 'dashboard'];

/** Open the event stream of the server; a `StreamOpener`. A proxy may hold back all events. */
export function openEventStream(
  source: LiveSource,
  handlers: LiveHandlers,
  onEnd: (end: StreamEnd) => void,
): () => void {
  const query = new URLSearchParams({ since: source.cursor });
  const events = new EventSource(`${source.baseUrl}api/v1/live?${query}`);
  let isOpen = false;
  let pingIntervalMs = PING_INTERVAL_MS;
  let silence = setTimeout(() => end('unheard'), FIRST_EVENT_MS);

  function close(): void {
    events.close();
    clearTimeout(silence);
  }

  function end(how: StreamEnd): void {
    close();
    onEnd(how);
  }

  function handleEvent(): void {
    clearTimeout(silence);
    silence = setTimeout(() => end('silent'), SILENT_INTERVALS * pingIntervalMs);
    if (!isOpen) handlers.onOpen();
    isOpen = true;
  }

  function listen<Body>(name: string, handle: (body: Body) => void): void {
    events.addEventListener(name, (event: MessageEvent<string>) => {
      handleEvent();
      handle(JSON.parse(event.data) as Body);
    });
  }

  events.onerror = () => end(isOpen ? 'broken' : 'unheard');
  listen<LoadStatus>('status', handlers.onStatus);
  listen<DeltaEvent>('delta', (delta) => {
    source.cursor = delta.cursor;
    handlers.onDelta(delta);
  });
  listen<{ cursor: string }>('reset', ({ cursor }) => {
    source.cursor = cursor;
    handlers.onReset(cursor);
  });
  for (const name of EVENT_NAMES) listen(name, (body) => handlers.onEvent(name, body));
  listen<PingEvent>('ping', ({ interval_s }) => {
    pingIntervalMs = interval_s * 1000;
    handleEvent();
  });
  return close;
}

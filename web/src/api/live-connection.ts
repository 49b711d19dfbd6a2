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

/** The board to follow, and the cursor up to which its changes are known. */
export interface LiveSource {
  /** The URL of the board, with a slash at its end; empty in the page itself. */
  readonly baseUrl: string;
  cursor: string;
}

/**
 * How a stream ended: `unheard` when it failed before the first event, `silent` when no event came
 * for too long, `broken` when it failed later.
 */
export type StreamEnd = 'unheard' | 'silent' | 'broken';

/** Opens a stream and returns how to close it. `onEnd` is called at most once, and never at once. */
export type StreamOpener = (
  source: LiveSource,
  handlers: LiveHandlers,
  onEnd: (end: StreamEnd) => void,
) => () => void;

const RETRY_MS = 2000;
const RETRY_STREAM_MS = 30_000;

/**
 * Follows the changes of a board through a stream and reconnects by itself. After `maxFailures`
 * streams in a row without any event it polls instead, and tries a stream again every 30 seconds.
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

  /** Connects, or connects anew, from the cursor of the source on. */
  start(): void {
    this.stop();
    this.#close = this.#open(this.#source, this.#handlers, (end) => this.#retry(end));
  }

  #retry(end: StreamEnd): void {
    this.#failures = end === 'unheard' ? this.#failures + 1 : 0;
    if (this.#failures >= this.#maxFailures) {
      this.#poll();
    } else if (end === 'silent') {
      // Mostly a computer that was asleep. Only a new stream can tell whether the server is lost.
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
      // The streams failed because the server was down, and it is back.
      if (wasLost) this.start();
    });
  }
}

const POLL_MS = 1000;
const RETRY_POLL_MS = 2000;

/** Asks once what changed since the cursor of the source. */
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
 * Polls until the function it returns is called. `onAnswer` is called after each answer and told
 * whether the request before it failed.
 */
export function startPolling(
  source: LiveSource,
  handlers: LiveHandlers,
  onAnswer: (wasLost: boolean) => void,
): () => void {
  const abort = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let lastEvent: number | null = null;
  let lost = false;

  async function pollAgain(): Promise<void> {
    try {
      take(await poll(source, lastEvent, abort.signal));
    } catch {
      if (abort.signal.aborted) return;
      lost = true;
      handlers.onLost();
    }
    if (!abort.signal.aborted) timer = setTimeout(pollAgain, lost ? RETRY_POLL_MS : POLL_MS);
  }

  function take(answer: PollResponse): void {
    const wasLost = lost;
    lost = false;
    lastEvent = answer.last_event;
    source.cursor = answer.cursor;
    handlers.onOpen();
    handlers.onStatus(answer.status);
    for (const { name, data } of answer.events) handlers.onEvent(name, data);
    if (answer.reset) handlers.onReset(answer.cursor);
    else if (answer.delta !== null) handlers.onDelta(answer.delta);
    onAnswer(wasLost);
  }

  void pollAgain();
  return () => {
    abort.abort();
    clearTimeout(timer);
  };
}

/** The server sends an event at once. */
const FIRST_EVENT_MS = 5000;
/** The interval of pings until the first one, which says it. */
const PING_INTERVAL_MS = 15_000;
/** How many intervals without any event end a stream. */
const SILENT_INTERVALS = 3;

/** Events that are not about the runs. */
const EVENT_NAMES = ['alert', 'notes'];

/** Opens the server's event stream; an `OpenStream`. A proxy may hold back all events. */
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

  function noteEvent(): void {
    clearTimeout(silence);
    silence = setTimeout(() => end('silent'), SILENT_INTERVALS * pingIntervalMs);
    if (!isOpen) handlers.onOpen();
    isOpen = true;
  }

  function listen<Body>(name: string, handle: (body: Body) => void): void {
    events.addEventListener(name, (event: MessageEvent<string>) => {
      noteEvent();
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
    noteEvent();
  });
  return close;
}

/** Follow the changes of a log: an event stream that reconnects, or polling. */
import { apiRequest } from './transport';
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
function poll(
  { baseUrl, cursor }: LiveSource,
  lastEvent: number | null = null,
  signal?: AbortSignal,
): Promise<PollResponse> {
  const query = { since: cursor, ...(lastEvent === null ? {} : { last_event: `${lastEvent}` }) };
  const path = `${baseUrl}api/v1/live/poll?${new URLSearchParams(query)}`;
  return apiRequest(path, { signal });
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

/** Messages of a page. `follow` also renews its subscription, which expires otherwise. */
export type PageMessage = { kind: 'follow'; cursor: string } | { kind: 'leave' };

/** Messages to a page: the events of the stream, and `alive` in reply to each `follow`. */
export type HubMessage =
  | { kind: 'alive' | 'open' | 'lost' }
  | { kind: 'status'; status: LoadStatus }
  | { kind: 'delta'; delta: DeltaEvent }
  | { kind: 'reset'; cursor: string }
  | { kind: 'other'; name: string; body: unknown };

/** Sends a message to one page, and identifies it. */
export type Post = (message: HubMessage) => void;

interface Subscriber {
  readonly post: Post;
  /** Up to which the page knows the changes of the log. */
  cursor: string;
  renewedAt: number;
  isCatchingUp: boolean;
}

/** Pages renew their subscription every 10 seconds; crashed pages do not. */
const EXPIRES_MS = 60_000;
const CHECK_MS = 15_000;
/** The hub polls after this many streams without an event. */
const MAX_STREAM_FAILURES = 2;
/** The server sends the latest of these to every new client, and the hub to every new page. */
const REVISION_EVENTS = ['notes', 'dashboard'];

/**
 * Shares one event stream between all pages of the same server in one browser.
 *
 * Every page has its own cursor. A change from the stream applies to the cursor that the
 * stream had before it, so only pages at exactly this cursor get it; any other page is brought up
 * to date by a poll from its own cursor. The stream is open while there are subscribers.
 */
export class LiveHub {
  readonly #source: LiveSource;
  readonly #connection: LiveConnection;
  readonly #subscribers = new Map<Post, Subscriber>();
  /** The cursor of the stream. */
  #cursor = '';
  #state: 'connecting' | 'open' | 'lost' = 'connecting';
  #status: LoadStatus | null = null;
  /** The latest event of each name about a revision, for pages that were hidden meanwhile. */
  readonly #revisions = new Map<string, HubMessage>();
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(baseUrl: string) {
    this.#source = { baseUrl, cursor: '' };
    const handlers = {
      onOpen: () => this.#setState('open'),
      onLost: () => this.#setState('lost'),
      onStatus: (status: LoadStatus) => {
        this.#status = status;
        this.#postAll({ kind: 'status', status });
      },
      onDelta: (delta: DeltaEvent) => this.#applyDelta(delta),
      onReset: (cursor: string) => {
        this.#cursor = cursor;
        for (const subscriber of this.#subscribers.values()) reset(subscriber, cursor);
      },
      onEvent: (name: string, body: unknown) => {
        const message = { kind: 'other', name, body } as const;
        if (REVISION_EVENTS.includes(name)) this.#revisions.set(name, message);
        this.#postAll(message);
      },
    };
    this.#connection = new LiveConnection(
      this.#source,
      handlers,
      openEventStream,
      MAX_STREAM_FAILURES,
    );
  }

  receive(post: Post, message: PageMessage): void {
    if (message.kind === 'leave') this.#leave(post);
    else this.#follow(post, message.cursor);
  }

  #follow(post: Post, cursor: string): void {
    post({ kind: 'alive' });
    const known = this.#subscribers.get(post);
    if (known) {
      known.renewedAt = Date.now();
      return;
    }
    const subscriber = { post, cursor, renewedAt: Date.now(), isCatchingUp: false };
    this.#subscribers.set(post, subscriber);
    if (this.#subscribers.size === 1) {
      this.#cursor = this.#source.cursor = cursor;
      this.#timer = setInterval(() => this.#dropExpired(), CHECK_MS);
      this.#connect();
      return;
    }
    if (this.#state === 'open') {
      post({ kind: 'open' });
      if (this.#status) post({ kind: 'status', status: this.#status });
      this.#revisions.forEach((message) => post(message));
    } else if (this.#state === 'lost') {
      // The page was loaded just now, so the server is reachable.
      this.#connect();
    }
    if (cursor !== this.#cursor) void this.#catchUp(subscriber);
  }

  #leave(post: Post): void {
    if (!this.#subscribers.delete(post) || this.#subscribers.size > 0) return;
    this.#connection.stop();
    clearInterval(this.#timer);
  }

  #connect(): void {
    this.#state = 'connecting';
    this.#status = null;
    this.#revisions.clear();
    this.#connection.start();
  }

  #dropExpired(): void {
    const oldest = Date.now() - EXPIRES_MS;
    for (const { post, renewedAt } of this.#subscribers.values()) {
      if (renewedAt < oldest) this.#leave(post);
    }
  }

  #setState(state: 'open' | 'lost'): void {
    this.#state = state;
    this.#postAll({ kind: state });
  }

  #postAll(message: HubMessage): void {
    for (const post of this.#subscribers.keys()) post(message);
  }

  #applyDelta(delta: DeltaEvent): void {
    const before = this.#cursor;
    this.#cursor = delta.cursor;
    for (const subscriber of this.#subscribers.values()) {
      if (subscriber.cursor === before) sendDelta(subscriber, delta);
      else if (subscriber.cursor !== delta.cursor) void this.#catchUp(subscriber);
    }
  }

  /** Send a page the changes between its own cursor and that of the stream, or a later one. */
  async #catchUp(subscriber: Subscriber): Promise<void> {
    if (subscriber.isCatchingUp) return;
    subscriber.isCatchingUp = true;
    let streamCursor;
    do {
      streamCursor = this.#cursor;
      await this.#pollFor(subscriber);
      // Unless the stream has advanced meanwhile, the page is at its cursor or ahead of it.
    } while (
      this.#subscribers.get(subscriber.post) === subscriber &&
      subscriber.cursor !== this.#cursor &&
      streamCursor !== this.#cursor
    );
    subscriber.isCatchingUp = false;
  }

  async #pollFor(subscriber: Subscriber): Promise<void> {
    const { cursor } = subscriber;
    const response = await poll({ baseUrl: this.#source.baseUrl, cursor }).catch(() => null);
    // The stream may have updated or reset the page meanwhile.
    if (subscriber.cursor !== cursor) return;
    if (response === null) reset(subscriber, this.#cursor);
    else if (response.reset) reset(subscriber, response.cursor);
    else if (response.delta) sendDelta(subscriber, response.delta);
  }
}

function sendDelta(subscriber: Subscriber, delta: DeltaEvent): void {
  subscriber.cursor = delta.cursor;
  subscriber.post({ kind: 'delta', delta });
}

function reset(subscriber: Subscriber, cursor: string): void {
  subscriber.cursor = cursor;
  subscriber.post({ kind: 'reset', cursor });
}

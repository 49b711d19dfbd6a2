/** Shares one event stream between pages; runs in a shared worker. */
import { LiveConnection, type LiveSource, openEventStream, poll } from './live-connection';
import type { DeltaEvent, LoadStatus } from './schemas';

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

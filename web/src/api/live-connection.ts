import { startPolling } from './polling';
import type { Delta, Status } from './types';

export interface LiveHandlers {
  readonly onOpen: () => void;
  readonly onLost: () => void;
  readonly onStatus: (status: Status) => void;
  readonly onDelta: (delta: Delta) => void;
  /** The server cannot say what changed since the cursor: reload everything. */
  readonly onReset: (cursor: string) => void;
  /** Any other event of the server, by its name. */
  readonly onOther: (name: string, body: unknown) => void;
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
export type OpenStream = (
  source: LiveSource,
  handlers: LiveHandlers,
  onEnd: (end: StreamEnd) => void,
) => () => void;

const RETRY_MS = 2000;
const STREAM_AGAIN_MS = 30_000;

/**
 * Follows the changes of a board through a stream and reconnects by itself. After `maxFailures`
 * streams in a row without any event it polls instead, and tries a stream again every 30 seconds.
 */
export class LiveConnection {
  readonly #source: LiveSource;
  readonly #handlers: LiveHandlers;
  readonly #open: OpenStream;
  readonly #maxFailures: number;
  #failures = 0;
  #close: (() => void) | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(source: LiveSource, handlers: LiveHandlers, open: OpenStream, maxFailures: number) {
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
    this.#timer = setTimeout(() => this.start(), STREAM_AGAIN_MS);
    this.#close = startPolling(this.#source, this.#handlers, (wasLost) => {
      // The streams failed because the server was down, and it is back.
      if (wasLost) this.start();
    });
  }
}

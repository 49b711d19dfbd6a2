import { findDoor } from './door';
import { startPolling } from './polling';
import { openStream } from './stream';
import type { Delta, Status } from './types';

export interface LiveHandlers {
  readonly onOpen: () => void;
  readonly onLost: () => void;
  readonly onStatus: (status: Status) => void;
  readonly onDelta: (delta: Delta) => void;
  /** The server no longer knows what changed since the cursor: everything has to be asked anew. */
  readonly onReset: (cursor: string) => void;
  /** Anything else that the server says, by its name. */
  readonly onOther: (name: string, body: unknown) => void;
}

/** Up to where the picture of this page goes; whoever follows moves it on. */
export interface Place {
  cursor: string;
}

const RETRY_MS = 2000;
/** So many streams that say nothing, and it is asked again and again instead. */
const MOST_FAILURES = 2;
const STREAM_AGAIN_MS = 30_000;

/**
 * Follows the changes since `cursor` and reconnects by itself; returns how to stop. A page that is
 * not seen lets go of its connection, of which a browser allows one server only six, and catches up
 * when it is seen again.
 */
export function followLive(cursor: string, handlers: LiveHandlers): () => void {
  // A copy of a board never changes.
  if (findDoor()) return () => undefined;
  const link = new Link({ cursor }, handlers);
  const follow = (): void => (document.hidden ? link.rest() : link.connect());
  document.addEventListener('visibilitychange', follow);
  follow();
  return () => {
    document.removeEventListener('visibilitychange', follow);
    link.rest();
  };
}

/** A stream, or where streams do not get through, polling, with another try from time to time. */
class Link {
  readonly #place: Place;
  readonly #handlers: LiveHandlers;
  #failures = 0;
  #end: (() => void) | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(place: Place, handlers: LiveHandlers) {
    this.#place = place;
    this.#handlers = handlers;
  }

  rest(): void {
    this.#end?.();
    this.#end = undefined;
    clearTimeout(this.#timer);
  }

  connect(): void {
    this.rest();
    this.#end = openStream(this.#place, this.#handlers, (heard) => this.#lose(heard));
  }

  #lose(heard: boolean): void {
    this.#failures = heard ? 0 : this.#failures + 1;
    if (this.#failures >= MOST_FAILURES) {
      this.#poll();
    } else {
      this.#handlers.onLost();
      this.#timer = setTimeout(() => this.connect(), RETRY_MS);
    }
  }

  #poll(): void {
    this.rest();
    this.#timer = setTimeout(() => this.connect(), STREAM_AGAIN_MS);
    this.#end = startPolling(this.#place, this.#handlers, (wasLost) => {
      // It was the server that was away: now that it is back a stream will do.
      if (wasLost) this.connect();
    });
  }
}

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

/** What may be said beside the runs. */
const OTHERS = ['alert', 'notes'];

const RETRY_MS = 2000;
/** The server speaks at least every 15 seconds; after this silence the connection is dead. */
const SILENCE_MS = 40_000;

/**
 * Follows the changes since `cursor` and reconnects by itself; returns how to stop. A page that is
 * not seen lets go of its connection, of which a browser allows one server only six, and catches up
 * when it is seen again.
 */
export function followLive(cursor: string, handlers: LiveHandlers): () => void {
  let source: EventSource | undefined;
  let retry: ReturnType<typeof setTimeout> | undefined;
  let silence: ReturnType<typeof setTimeout> | undefined;

  function lose(): void {
    rest();
    retry = setTimeout(connect, RETRY_MS);
    handlers.onLost();
  }

  function listen<Body>(name: string, handle: (body: Body) => void): void {
    source?.addEventListener(name, (event: MessageEvent<string>) => {
      clearTimeout(silence);
      silence = setTimeout(lose, SILENCE_MS);
      handle(JSON.parse(event.data) as Body);
    });
  }

  function rest(): void {
    source?.close();
    clearTimeout(silence);
    clearTimeout(retry);
  }

  function follow(): void {
    rest();
    if (!document.hidden) connect();
  }

  function connect(): void {
    source = new EventSource(`api/live?${new URLSearchParams({ since: cursor })}`);
    source.onopen = handlers.onOpen;
    source.onerror = lose;
    listen<Status>('status', handlers.onStatus);
    listen<Delta>('delta', (delta) => {
      cursor = delta.cursor;
      handlers.onDelta(delta);
    });
    listen<{ cursor: string }>('reset', (reset) => {
      cursor = reset.cursor;
      handlers.onReset(cursor);
    });
    for (const name of OTHERS) listen(name, (body) => handlers.onOther(name, body));
    listen('beat', () => undefined);
  }

  document.addEventListener('visibilitychange', follow);
  follow();
  return () => {
    document.removeEventListener('visibilitychange', follow);
    rest();
  };
}

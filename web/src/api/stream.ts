import type { LiveHandlers, LiveSource, StreamEnd } from './live-connection';
import type { PingEvent } from './schemas';
import type { Delta, Status } from './types';

/** The server sends an event at once. */
const FIRST_EVENT_MS = 5000;
/** The interval of pings until the first one, which says it. */
const PING_INTERVAL_MS = 15_000;
/** How many intervals without any event end a stream. */
const SILENT_INTERVALS = 3;

/** Events that are not about the runs. */
const OTHER_EVENTS = ['alert', 'notes'];

/** Opens the server's event stream; an `OpenStream`. A proxy may hold back all events. */
export function openStream(
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
  listen<Status>('status', handlers.onStatus);
  listen<Delta>('delta', (delta) => {
    source.cursor = delta.cursor;
    handlers.onDelta(delta);
  });
  listen<{ cursor: string }>('reset', ({ cursor }) => {
    source.cursor = cursor;
    handlers.onReset(cursor);
  });
  for (const name of OTHER_EVENTS) listen(name, (body) => handlers.onOther(name, body));
  listen<PingEvent>('ping', ({ interval_s }) => {
    pingIntervalMs = interval_s * 1000;
    noteEvent();
  });
  return close;
}

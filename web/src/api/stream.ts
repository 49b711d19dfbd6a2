import type { LiveHandlers, LiveSource, StreamEnd } from './live-connection';
import type { Delta, Status } from './types';

/** The server sends an event at once, and then at least every 15 seconds. */
const FIRST_EVENT_MS = 5000;
const SILENCE_MS = 40_000;

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
    silence = setTimeout(() => end('silent'), SILENCE_MS);
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
  listen('ping', () => undefined);
  return close;
}

import type { LiveHandlers, Place } from './live';
import type { Delta, Status } from './types';

/** The server speaks at once, and then at least every 15 seconds. */
const FIRST_WORD_MS = 5000;
const SILENCE_MS = 40_000;

/** What may be said beside the runs. */
const OTHERS = ['alert', 'notes'];

/**
 * Opens a stream of events; returns how to close it. `onEnd` is called once, when the stream is
 * broken or silent, and told whether anything was heard: a proxy may hold back every word.
 */
export function openStream(
  place: Place,
  handlers: LiveHandlers,
  onEnd: (heard: boolean) => void,
): () => void {
  const source = new EventSource(`api/live?${new URLSearchParams({ since: place.cursor })}`);
  let heard = false;
  let silence = setTimeout(end, FIRST_WORD_MS);

  function close(): void {
    source.close();
    clearTimeout(silence);
  }

  function end(): void {
    close();
    onEnd(heard);
  }

  function hear(): void {
    clearTimeout(silence);
    silence = setTimeout(end, SILENCE_MS);
    if (!heard) handlers.onOpen();
    heard = true;
  }

  function listen<Body>(name: string, handle: (body: Body) => void): void {
    source.addEventListener(name, (event: MessageEvent<string>) => {
      hear();
      handle(JSON.parse(event.data) as Body);
    });
  }

  source.onerror = end;
  listen<Status>('status', handlers.onStatus);
  listen<Delta>('delta', (delta) => {
    place.cursor = delta.cursor;
    handlers.onDelta(delta);
  });
  listen<{ cursor: string }>('reset', (reset) => {
    place.cursor = reset.cursor;
    handlers.onReset(reset.cursor);
  });
  for (const name of OTHERS) listen(name, (body) => handlers.onOther(name, body));
  listen('beat', () => undefined);
  return close;
}

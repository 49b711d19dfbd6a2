import {
  LiveConnection,
  type LiveHandlers,
  type LiveSource,
  type StreamEnd,
} from './live-connection';
import type { HubMessage, PageMessage } from './live-hub';
import { getTransport } from './client';

const RENEW_MS = 10_000;
/** The worker replies to every renewal; a worker that does not is not there. */
const FIRST_REPLY_MS = 10_000;
const SILENCE_MS = 40_000;

/**
 * Joins the event stream that all pages of this board in this browser share; an `OpenStream`. It
 * ends when there is no shared worker: browsers without any, workers that were stopped, frames
 * that may not have one.
 */
export function openSharedStream(
  source: LiveSource,
  handlers: LiveHandlers,
  onEnd: (end: StreamEnd) => void,
): () => void {
  const worker = createSharedWorker();
  let silence = setTimeout(end, worker ? FIRST_REPLY_MS : 0);
  const renewal = setInterval(follow, RENEW_MS);

  function close(): void {
    clearTimeout(silence);
    clearInterval(renewal);
    if (!worker) return;
    send({ kind: 'leave' });
    worker.onerror = null;
    worker.port.onmessage = null;
    worker.port.close();
  }

  function end(): void {
    close();
    onEnd('unheard');
  }

  function send(message: PageMessage): void {
    worker?.port.postMessage(message);
  }

  function follow(): void {
    send({ kind: 'follow', cursor: source.cursor });
  }

  function receive(message: HubMessage): void {
    clearTimeout(silence);
    silence = setTimeout(end, SILENCE_MS);
    switch (message.kind) {
      case 'open':
        return handlers.onOpen();
      case 'lost':
        return handlers.onLost();
      case 'status':
        return handlers.onStatus(message.status);
      case 'delta':
        source.cursor = message.delta.cursor;
        return handlers.onDelta(message.delta);
      case 'reset':
        source.cursor = message.cursor;
        return handlers.onReset(message.cursor);
      case 'other':
        return handlers.onEvent(message.name, message.body);
    }
  }

  if (worker) {
    worker.onerror = end;
    worker.port.onmessage = ({ data }: MessageEvent<HubMessage>) => receive(data);
    follow();
  }
  return close;
}

function createSharedWorker(): SharedWorker | undefined {
  try {
    // The name tells boards apart, and tells the worker where the board is.
    return new SharedWorker(new URL('./live-worker.ts', import.meta.url), {
      type: 'module',
      name: new URL('.', document.baseURI).href,
    });
  } catch {
    // Chrome on Android has no shared workers, and a frame without an origin may not have any.
    return undefined;
  }
}

/**
 * Follows the changes of the board since `cursor` until the function it returns is called. A page
 * that is hidden stops following, and catches up when it is visible again.
 *
 * A browser allows one server only six connections, for all tabs and frames together. So the event
 * stream is in a worker that they share, and where there is none the page polls.
 */
export function subscribeToLive(cursor: string, handlers: LiveHandlers): () => void {
  // A static copy of a board never changes.
  if (getTransport().exportedAt !== null) return () => undefined;
  const connection = new LiveConnection({ baseUrl: '', cursor }, handlers, openSharedStream, 1);
  const update = (): void => (document.hidden ? connection.stop() : connection.start());
  // Browsers also send this when a page is left or a frame is removed.
  document.addEventListener('visibilitychange', update);
  update();
  return () => {
    document.removeEventListener('visibilitychange', update);
    connection.stop();
  };
}

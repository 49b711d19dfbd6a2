/** Live updates of a page, through a stream that all pages of this browser share. */
import {
  type HubMessage,
  LiveConnection,
  type LiveHandlers,
  type LiveSource,
  type PageMessage,
  type StreamEnd,
} from './live-connection';
import { getTransport } from './transport';

const RENEW_MS = 10_000;
/** The worker replies to every renewal; without a reply, it is not running. */
const FIRST_REPLY_MS = 10_000;
const SILENCE_MS = 40_000;

/**
 * Join the event stream that all pages of the same server share in this browser; a `StreamOpener`. It
 * ends if there is no shared worker: in browsers without support, in some sandboxed frames, and when
 * the worker was stopped.
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
    // The name identifies the server and is its URL for the worker.
    return new SharedWorker(new URL('./live-worker.ts', import.meta.url), {
      type: 'module',
      name: new URL('.', document.baseURI).href,
    });
  } catch {
    // Chrome on Android has no shared workers, and frames with an opaque origin cannot use them.
    return undefined;
  }
}

/**
 * Follow the changes of the log since `cursor` until the returned function is called. A hidden page
 * stops following and catches up when it is visible again.
 *
 * Browsers allow six connections per server for all tabs and frames together. So the event stream is
 * in a shared worker; without one, the page polls.
 */
export function subscribeToLive(cursor: string, handlers: LiveHandlers): () => void {
  // A static export never changes.
  if (!getTransport().supports('GET live/poll')) return () => undefined;
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

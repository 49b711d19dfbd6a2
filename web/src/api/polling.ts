import { ask } from './client';
import type { LiveHandlers, LiveSource } from './live-connection';
import type { PollAnswer } from './types';

const PAUSE_MS = 1000;
const LOST_PAUSE_MS = 2000;

/** Asks once what changed since the cursor of the source. */
export function poll(
  { baseUrl, cursor }: LiveSource,
  lastEvent: number | null = null,
  signal?: AbortSignal,
): Promise<PollAnswer> {
  const query = { since: cursor, ...(lastEvent === null ? {} : { last_event: `${lastEvent}` }) };
  const path = `${baseUrl}api/v1/live/poll?${new URLSearchParams(query)}`;
  return ask(path, signal ? { signal } : {});
}

/**
 * Polls until the function it returns is called. `onAnswer` is called after each answer and told
 * whether the request before it failed.
 */
export function startPolling(
  source: LiveSource,
  handlers: LiveHandlers,
  onAnswer: (wasLost: boolean) => void,
): () => void {
  const abort = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let lastEvent: number | null = null;
  let lost = false;

  async function pollAgain(): Promise<void> {
    try {
      take(await poll(source, lastEvent, abort.signal));
    } catch {
      if (abort.signal.aborted) return;
      lost = true;
      handlers.onLost();
    }
    if (!abort.signal.aborted) timer = setTimeout(pollAgain, lost ? LOST_PAUSE_MS : PAUSE_MS);
  }

  function take(answer: PollAnswer): void {
    const wasLost = lost;
    lost = false;
    lastEvent = answer.last_event;
    source.cursor = answer.cursor;
    handlers.onOpen();
    handlers.onStatus(answer.status);
    for (const { name, data } of answer.events) handlers.onOther(name, data);
    if (answer.reset) handlers.onReset(answer.cursor);
    else if (answer.delta !== null) handlers.onDelta(answer.delta);
    onAnswer(wasLost);
  }

  void pollAgain();
  return () => {
    abort.abort();
    clearTimeout(timer);
  };
}

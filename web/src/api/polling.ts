import { ask } from './client';
import type { LiveHandlers, Place } from './live';
import type { PollAnswer } from './types';

const PAUSE_MS = 1000;
const LOST_PAUSE_MS = 2000;

/**
 * Asks again and again what is new; returns how to stop. `onAnswer` is called after each answer and
 * told whether the one before failed.
 */
export function startPolling(
  place: Place,
  handlers: LiveHandlers,
  onAnswer: (wasLost: boolean) => void,
): () => void {
  const abort = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let heard: number | null = null;
  let lost = false;

  async function poll(): Promise<void> {
    try {
      const query = { since: place.cursor, ...(heard === null ? {} : { heard: `${heard}` }) };
      const { signal } = abort;
      take(await ask<PollAnswer>(`api/live/poll?${new URLSearchParams(query)}`, { signal }));
    } catch {
      if (abort.signal.aborted) return;
      lost = true;
      handlers.onLost();
    }
    if (!abort.signal.aborted) timer = setTimeout(poll, lost ? LOST_PAUSE_MS : PAUSE_MS);
  }

  function take(answer: PollAnswer): void {
    const wasLost = lost;
    lost = false;
    heard = answer.heard;
    place.cursor = answer.cursor;
    handlers.onOpen();
    handlers.onStatus(answer.status);
    for (const { name, body } of answer.said) handlers.onOther(name, body);
    if (answer.reset) handlers.onReset(answer.cursor);
    else if (answer.delta !== null) handlers.onDelta(answer.delta);
    onAnswer(wasLost);
  }

  void poll();
  return () => {
    abort.abort();
    clearTimeout(timer);
  };
}

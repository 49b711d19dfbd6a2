import { vi, type Mock } from 'vitest';

import type { LiveHandlers } from './live-connection';
import type { DeltaEvent, PollResponse, LoadStatus } from './schemas';

export const STATUS: LoadStatus = {
  loading: false,
  progress: { files_done: 0, files_total: 0, bytes_done: 0, bytes_total: 0 },
  problems: [],
  problem_count: 0,
};

export const makePollResponse = (
  cursor: string,
  more: Partial<PollResponse> = {},
): PollResponse => ({
  cursor,
  last_event: 0,
  reset: false,
  status: STATUS,
  delta: null,
  events: [],
  ...more,
});

export const makeDelta = (cursor: string): DeltaEvent => ({
  cursor,
  added: [],
  removed: [],
  changed: [],
  tags: [],
  tags_truncated: false,
  points: {},
  points_truncated: false,
});

/** A fake EventSource; tests send events through it. */
export class FakeEventSource {
  static all: FakeEventSource[] = [];
  onerror: (() => void) | null = null;
  closed = false;
  readonly #listeners = new Map<string, (event: { data: string }) => void>();

  constructor(readonly url: string) {
    FakeEventSource.all.push(this);
  }

  static get latest(): FakeEventSource {
    return FakeEventSource.all.at(-1) as FakeEventSource;
  }

  static get open(): FakeEventSource[] {
    return FakeEventSource.all.filter(({ closed }) => !closed);
  }

  addEventListener(name: string, listener: (event: { data: string }) => void): void {
    this.#listeners.set(name, listener);
  }

  close(): void {
    this.closed = true;
  }

  send(name: string, body: unknown): void {
    if (!this.closed) this.#listeners.get(name)?.({ data: JSON.stringify(body) });
  }
}

export function mockHandlers(): { [Name in keyof LiveHandlers]: Mock<LiveHandlers[Name]> } {
  return {
    onOpen: vi.fn(),
    onLost: vi.fn(),
    onStatus: vi.fn(),
    onDelta: vi.fn(),
    onReset: vi.fn(),
    onEvent: vi.fn(),
  };
}

import { untrack } from 'svelte';

import type { Span } from '../../../charts/types';
import type { Context } from '../../../plugin/context';
import type { AudioSettings } from '../state/settings';
import { Deck } from './deck';

/** What plays and the two that are compared, and one to spare. */
const MOST_ELEMENTS = 4;
/** A clip that is this near to its end begins anew when it is played. */
const END_S = 0.02;

/** Plays one clip at a time; the clip may become another one while it plays, at the same place. */
export class Player {
  playing = $state(false);
  /** In seconds. */
  position = $state(0);
  /** Why the browser does not play it. */
  problem = $state<string | null>(null);
  readonly #settings: AudioSettings;
  readonly #deck: Deck;
  /** Where the clip is found; null for none. */
  #path: string | null = null;
  #frame = 0;

  constructor({ api }: Context, settings: AudioSettings) {
    this.#settings = settings;
    this.#deck = new Deck(
      (path) => api.fileUrl(path),
      (path, event) => this.#hear(path, event),
    );
    this.position = settings.position.value ?? 0;
  }

  /** The clip at a path is the one that is played from now on, at the same place as the one before. */
  change(path: string | null): void {
    if (path === this.#path) return;
    const before = this.#path;
    this.#path = path;
    this.problem = null;
    if (before !== null) this.#deck.find(before)?.pause();
    if (path === null) this.stop();
    else if (untrack(() => this.playing)) this.#start();
    this.#deck.trim(MOST_ELEMENTS, path);
  }

  /** Loads a clip that may be wanted soon. */
  expect(path: string): void {
    this.#deck.take(path);
    this.#deck.trim(MOST_ELEMENTS, this.#path);
  }

  play(): void {
    this.playing = true;
    if (this.#path !== null) this.#start();
  }

  stop(): void {
    if (!this.playing) return;
    this.playing = false;
    cancelAnimationFrame(this.#frame);
    if (this.#path !== null) this.#deck.find(this.#path)?.pause();
    this.#note();
  }

  seek(seconds: number): void {
    this.position = Math.max(0, seconds);
    const element = this.#path === null ? undefined : this.#deck.find(this.#path);
    if (element && element.readyState > 0) element.currentTime = this.position;
    if (!this.playing) this.#note();
  }

  /** How loud it is, from 0 to 1. */
  setLevel(level: number): void {
    const element = this.#path === null ? undefined : this.#deck.find(this.#path);
    if (element) element.volume = level;
  }

  /** Silence, and nothing left that was loaded. */
  close(): void {
    cancelAnimationFrame(this.#frame);
    this.#deck.clear();
  }

  /** Where it stopped, to the millisecond: a link leads there. */
  #note(): void {
    this.#settings.position.set(Math.round(this.position * 1000) / 1000 || null, 'replace');
  }

  #start(): void {
    const path = this.#path;
    if (path === null) return;
    const element = this.#deck.take(path);
    element.volume = this.#settings.level.value;
    if (element.readyState > 0) this.#begin(element);
    // Else it begins when it knows how long it is.
    this.#follow();
  }

  #begin(element: HTMLAudioElement): void {
    const isOver = this.position >= element.duration - END_S;
    const [start] = this.#loop ?? [0];
    if (isOver || this.#isBeyondLoop) this.position = start;
    element.currentTime = this.position;
    element.play().catch((error: unknown) => {
      // One that was told to stop before it had begun is not in trouble.
      if (error instanceof DOMException && error.name === 'AbortError') return;
      this.#fail(error instanceof DOMException && error.name === 'NotAllowedError');
    });
  }

  /** The part that is repeated. */
  get #loop(): Span | null {
    return this.#settings.looping.value ? this.#settings.range.value : null;
  }

  get #isBeyondLoop(): boolean {
    const loop = this.#loop;
    return loop !== null && (this.position < loop[0] - END_S || this.position >= loop[1]);
  }

  #follow(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = requestAnimationFrame(() => {
      if (!this.playing) return;
      this.#look();
      this.#follow();
    });
  }

  #look(): void {
    const element = this.#path === null ? undefined : this.#deck.find(this.#path);
    if (!element || element.paused || element.seeking) return;
    this.position = element.currentTime;
    const loop = this.#loop;
    if (loop && this.position >= loop[1]) this.seek(loop[0]);
  }

  #hear(path: string, { type }: Event): void {
    if (path !== this.#path) return;
    const element = this.#deck.find(path);
    if (type === 'error') this.#fail(false);
    // A page that is not seen has no frames, but its sound goes on.
    else if (type === 'timeupdate' && this.playing) this.#look();
    else if (type === 'loadedmetadata' && this.playing && element) this.#begin(element);
    else if (type === 'ended' && this.playing) this.#end();
  }

  #end(): void {
    if (this.#settings.looping.value) {
      this.seek(this.#loop?.[0] ?? 0);
      this.#start();
    } else {
      this.stop();
      this.seek(0);
    }
  }

  #fail(isForbidden: boolean): void {
    this.stop();
    if (this.#path !== null) this.#deck.drop(this.#path);
    this.problem = isForbidden
      ? 'The browser plays nothing before somebody has clicked. Press play again.'
      : 'The browser cannot play this clip. Download it to listen to it elsewhere.';
  }
}

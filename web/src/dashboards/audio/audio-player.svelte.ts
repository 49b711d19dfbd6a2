import { untrack } from 'svelte';

import type { NumberRange } from '../../charts/types';
import type { Context, Param } from '../../plugin/context';
import * as m from '../../catalog/audio';

/**
 * A few audio elements by the path of their clip. Several, so that switching between two compared
 * clips does not wait for a download; few, because browsers keep what each element has loaded.
 */
export class AudioElementPool {
  /** Least recently used first. */
  readonly #elements = new Map<string, HTMLAudioElement>();
  readonly #resolveUrl: (path: string) => Promise<string>;
  readonly #onevent: (path: string, event: Event) => void;

  constructor(
    resolveUrl: (path: string) => Promise<string>,
    onevent: (path: string, event: Event) => void,
  ) {
    this.#resolveUrl = resolveUrl;
    this.#onevent = onevent;
  }

  get(path: string): HTMLAudioElement | undefined {
    return this.#elements.get(path);
  }

  /** Return the element of a clip; it starts to load if it is new. */
  acquire(path: string): HTMLAudioElement {
    const known = this.#elements.get(path);
    const element = known ?? this.#make(path);
    this.#elements.delete(path);
    this.#elements.set(path, element);
    return element;
  }

  /** Release the least recently used elements, except for the one in use. */
  trim(maxElements: number, used: string | null): void {
    for (const path of this.#elements.keys()) {
      if (this.#elements.size <= maxElements) return;
      if (path !== used) this.release(path);
    }
  }

  release(path: string): void {
    const element = this.#elements.get(path);
    this.#elements.delete(path);
    if (!element) return;
    element.pause();
    // Otherwise the browser keeps what the element has loaded.
    element.removeAttribute('src');
    element.load();
  }

  clear(): void {
    for (const path of [...this.#elements.keys()]) this.release(path);
  }

  #make(path: string): HTMLAudioElement {
    const element = new Audio();
    element.preload = 'auto';
    for (const kind of ['ended', 'error', 'loadedmetadata', 'pause', 'timeupdate'])
      element.addEventListener(kind, (event) => {
        if (this.#elements.get(path) === element) this.#onevent(path, event);
      });
    this.#resolveUrl(path).then(
      (url) => {
        if (this.#elements.get(path) === element) element.src = url;
      },
      () => this.#onevent(path, new Event('error')),
    );
    return element;
  }
}

/** The current clip, the two compared clips, and a spare one. */
const MAX_AUDIO_ELEMENTS = 4;
/** A clip this close to its end starts from the beginning. */
const END_TOLERANCE_S = 0.02;

/** The settings that playback follows. */
interface PlaybackSettings {
  /** In seconds, saved when playback stops. */
  readonly position: Param<number | null>;
  readonly loop: Param<boolean>;
  /** The time range that is repeated; null: the whole clip. */
  readonly loopRange: Param<NumberRange | null>;
  /** From 0 to 1. */
  readonly volume: Param<number>;
}

/** Plays one clip at a time. The clip can be replaced during playback; the position stays. */
export class AudioPlayer {
  playing = $state(false);
  /** In seconds. */
  position = $state(0);
  /** Why the browser cannot play the clip. */
  error = $state<string | null>(null);
  readonly #settings: PlaybackSettings;
  readonly #pool: AudioElementPool;
  #path: string | null = null;
  #frame = 0;

  constructor({ api }: Context, settings: PlaybackSettings) {
    this.#settings = settings;
    this.#pool = new AudioElementPool(
      (path) => api.fileUrl(path),
      (path, event) => this.#handleEvent(path, event),
    );
    this.position = settings.position.value ?? 0;
  }

  /** Set the clip. Playback continues at the same position. */
  setSource(path: string | null): void {
    if (path === this.#path) return;
    const previous = this.#path;
    this.#path = path;
    this.error = null;
    if (previous !== null) this.#pool.get(previous)?.pause();
    if (path === null) this.pause();
    else if (untrack(() => this.playing)) this.#start();
    this.#pool.trim(MAX_AUDIO_ELEMENTS, path);
  }

  /** Load a clip that may be played soon. */
  preload(path: string): void {
    this.#pool.acquire(path);
    this.#pool.trim(MAX_AUDIO_ELEMENTS, this.#path);
  }

  play(): void {
    this.playing = true;
    if (this.#path !== null) this.#start();
  }

  pause(): void {
    if (!this.playing) return;
    this.playing = false;
    cancelAnimationFrame(this.#frame);
    if (this.#path !== null) this.#pool.get(this.#path)?.pause();
    this.#savePosition();
  }

  seek(seconds: number): void {
    this.position = Math.max(0, seconds);
    const element = this.#path === null ? undefined : this.#pool.get(this.#path);
    if (element && element.readyState > 0) element.currentTime = this.position;
    if (!this.playing) this.#savePosition();
  }

  /** From 0 to 1. */
  setVolume(volume: number): void {
    const element = this.#path === null ? undefined : this.#pool.get(this.#path);
    if (element) element.volume = volume;
  }

  dispose(): void {
    cancelAnimationFrame(this.#frame);
    this.#pool.clear();
  }

  /** Write the position to the URL, in milliseconds. */
  #savePosition(): void {
    this.#settings.position.set(Math.round(this.position * 1000) / 1000 || null, 'replace');
  }

  #start(): void {
    const path = this.#path;
    if (path === null) return;
    const element = this.#pool.acquire(path);
    element.volume = this.#settings.volume.value;
    if (element.readyState > 0) this.#begin(element);
    // Otherwise it begins when the metadata is loaded.
    this.#scheduleUpdate();
  }

  #begin(element: HTMLAudioElement): void {
    const isAtEnd = this.position >= element.duration - END_TOLERANCE_S;
    const [start] = this.#loop ?? [0];
    if (isAtEnd || this.#isBeyondLoop) this.position = start;
    element.currentTime = this.position;
    element.play().catch((error: unknown) => {
      // Paused before playback began.
      if (error instanceof DOMException && error.name === 'AbortError') return;
      this.#fail(error instanceof DOMException && error.name === 'NotAllowedError');
    });
  }

  get #loop(): NumberRange | null {
    return this.#settings.loop.value ? this.#settings.loopRange.value : null;
  }

  get #isBeyondLoop(): boolean {
    const loop = this.#loop;
    return loop !== null && (this.position < loop[0] - END_TOLERANCE_S || this.position >= loop[1]);
  }

  #scheduleUpdate(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = requestAnimationFrame(() => {
      if (!this.playing) return;
      this.#updatePosition();
      this.#scheduleUpdate();
    });
  }

  #updatePosition(): void {
    const element = this.#path === null ? undefined : this.#pool.get(this.#path);
    if (!element || element.paused || element.seeking) return;
    this.position = element.currentTime;
    const loop = this.#loop;
    if (loop && this.position >= loop[1]) this.seek(loop[0]);
  }

  #handleEvent(path: string, { type }: Event): void {
    if (path !== this.#path) return;
    const element = this.#pool.get(path);
    if (type === 'error') this.#fail(false);
    // A hidden page gets no animation frames, but continues to play.
    else if (type === 'timeupdate' && this.playing) this.#updatePosition();
    else if (type === 'loadedmetadata' && this.playing && element) this.#begin(element);
    else if (type === 'ended' && this.playing) this.#end();
  }

  #end(): void {
    if (this.#settings.loop.value) {
      this.seek(this.#loop?.[0] ?? 0);
      this.#start();
    } else {
      this.pause();
      this.seek(0);
    }
  }

  #fail(isBlocked: boolean): void {
    this.pause();
    if (this.#path !== null) this.#pool.release(this.#path);
    this.error = isBlocked ? m.errorAutoplayBlocked : m.errorCannotPlay;
  }
}

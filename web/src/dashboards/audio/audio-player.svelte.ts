import { untrack } from 'svelte';

import type { NumberRange } from '../../charts/types';
import type { Context } from '../../plugin/context';
import type { AudioSettings } from './audio-settings';

/**
 * The audio elements of the page: few, as browsers hold on to what each has loaded, and more than
 * one, so that two clips are compared without a pause for loading between them.
 */
export class AudioElementPool {
  /** In the order of use. */
  readonly #elements = new Map<string, HTMLAudioElement>();
  readonly #findUrl: (path: string) => Promise<string>;
  readonly #tell: (path: string, event: Event) => void;

  constructor(
    findUrl: (path: string) => Promise<string>,
    tell: (path: string, event: Event) => void,
  ) {
    this.#findUrl = findUrl;
    this.#tell = tell;
  }

  get(path: string): HTMLAudioElement | undefined {
    return this.#elements.get(path);
  }

  /** The element for a clip, loading it or having it loaded. */
  acquire(path: string): HTMLAudioElement {
    const known = this.#elements.get(path);
    const element = known ?? this.#make(path);
    this.#elements.delete(path);
    this.#elements.set(path, element);
    return element;
  }

  /** Lets go of all but those that were used last, and of none that is in use. */
  trim(most: number, used: string | null): void {
    for (const path of this.#elements.keys()) {
      if (this.#elements.size <= most) return;
      if (path !== used) this.release(path);
    }
  }

  release(path: string): void {
    const element = this.#elements.get(path);
    this.#elements.delete(path);
    if (!element) return;
    element.pause();
    // Only an element without an address lets go of what it has loaded.
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
        if (this.#elements.get(path) === element) this.#tell(path, event);
      });
    this.#findUrl(path).then(
      (url) => {
        if (this.#elements.get(path) === element) element.src = url;
      },
      () => this.#tell(path, new Event('error')),
    );
    return element;
  }
}

/** What plays and the two that are compared, and one to spare. */
const MAX_AUDIO_ELEMENTS = 4;
/** A clip that is this near to its end begins anew when it is played. */
const END_TOLERANCE_S = 0.02;

/** Plays one clip at a time; the clip may become another one while it plays, at the same place. */
export class AudioPlayer {
  playing = $state(false);
  /** In seconds. */
  position = $state(0);
  /** Why the browser does not play it. */
  error = $state<string | null>(null);
  readonly #settings: AudioSettings;
  readonly #deck: AudioElementPool;
  /** Where the clip is found; null for none. */
  #path: string | null = null;
  #frame = 0;

  constructor({ api }: Context, settings: AudioSettings) {
    this.#settings = settings;
    this.#deck = new AudioElementPool(
      (path) => api.fileUrl(path),
      (path, event) => this.#hear(path, event),
    );
    this.position = settings.position.value ?? 0;
  }

  /** The clip at a path is the one that is played from now on, at the same place as the one before. */
  setSource(path: string | null): void {
    if (path === this.#path) return;
    const before = this.#path;
    this.#path = path;
    this.error = null;
    if (before !== null) this.#deck.get(before)?.pause();
    if (path === null) this.pause();
    else if (untrack(() => this.playing)) this.#start();
    this.#deck.trim(MAX_AUDIO_ELEMENTS, path);
  }

  /** Loads a clip that may be wanted soon. */
  preload(path: string): void {
    this.#deck.acquire(path);
    this.#deck.trim(MAX_AUDIO_ELEMENTS, this.#path);
  }

  play(): void {
    this.playing = true;
    if (this.#path !== null) this.#start();
  }

  pause(): void {
    if (!this.playing) return;
    this.playing = false;
    cancelAnimationFrame(this.#frame);
    if (this.#path !== null) this.#deck.get(this.#path)?.pause();
    this.#note();
  }

  seek(seconds: number): void {
    this.position = Math.max(0, seconds);
    const element = this.#path === null ? undefined : this.#deck.get(this.#path);
    if (element && element.readyState > 0) element.currentTime = this.position;
    if (!this.playing) this.#note();
  }

  /** How loud it is, from 0 to 1. */
  setVolume(level: number): void {
    const element = this.#path === null ? undefined : this.#deck.get(this.#path);
    if (element) element.volume = level;
  }

  /** Silence, and nothing left that was loaded. */
  dispose(): void {
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
    const element = this.#deck.acquire(path);
    element.volume = this.#settings.volume.value;
    if (element.readyState > 0) this.#begin(element);
    // Else it begins when it knows how long it is.
    this.#follow();
  }

  #begin(element: HTMLAudioElement): void {
    const isOver = this.position >= element.duration - END_TOLERANCE_S;
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
  get #loop(): NumberRange | null {
    return this.#settings.loop.value ? this.#settings.loopRange.value : null;
  }

  get #isBeyondLoop(): boolean {
    const loop = this.#loop;
    return loop !== null && (this.position < loop[0] - END_TOLERANCE_S || this.position >= loop[1]);
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
    const element = this.#path === null ? undefined : this.#deck.get(this.#path);
    if (!element || element.paused || element.seeking) return;
    this.position = element.currentTime;
    const loop = this.#loop;
    if (loop && this.position >= loop[1]) this.seek(loop[0]);
  }

  #hear(path: string, { type }: Event): void {
    if (path !== this.#path) return;
    const element = this.#deck.get(path);
    if (type === 'error') this.#fail(false);
    // A page that is not seen has no frames, but its sound goes on.
    else if (type === 'timeupdate' && this.playing) this.#look();
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

  #fail(isForbidden: boolean): void {
    this.pause();
    if (this.#path !== null) this.#deck.release(this.#path);
    this.error = isForbidden
      ? 'The browser plays nothing before somebody has clicked. Press play again.'
      : 'The browser cannot play this clip. Download it to listen to it elsewhere.';
  }
}

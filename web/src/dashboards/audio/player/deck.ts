/**
 * The audio elements of the page: few, as browsers hold on to what each has loaded, and more than
 * one, so that two clips are compared without a pause for loading between them.
 */
export class Deck {
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

  find(path: string): HTMLAudioElement | undefined {
    return this.#elements.get(path);
  }

  /** The element for a clip, loading it or having it loaded. */
  take(path: string): HTMLAudioElement {
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
      if (path !== used) this.drop(path);
    }
  }

  drop(path: string): void {
    const element = this.#elements.get(path);
    this.#elements.delete(path);
    if (!element) return;
    element.pause();
    // Only an element without an address lets go of what it has loaded.
    element.removeAttribute('src');
    element.load();
  }

  clear(): void {
    for (const path of [...this.#elements.keys()]) this.drop(path);
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

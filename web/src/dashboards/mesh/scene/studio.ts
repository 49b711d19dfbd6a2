import { Easel } from './easel';
import { DrawingPace } from '../../../charts/space/pace';
import { SharedCanvas } from './shared-canvas';
import type { Shown, Studio, StudioView } from './shown';

/** After so long the pictures that are left wait for the next turn. */
const LONGEST_TURN_MS = 30;
/** A turn that comes later than this after the one before was held up by the graphics card. */
const LATE_MS = 34;
const IDLE_MS = 1000;

/** Null where the browser has no graphics context to give. */
export function openStudio(): Studio | null {
  const studio = new SharedStudio();
  return studio.canvas ? studio : null;
}

/** Draws pictures turn by turn: first what changed, then, in peace, what is not complete. */
class SharedStudio implements Studio {
  readonly canvas: SharedCanvas | null;
  readonly #paces: { readonly cloud: DrawingPace; readonly solid: DrawingPace };
  readonly #easels = new Set<Easel>();
  #isScheduled = false;
  #lastTurn: { readonly at: number; readonly drawn: readonly Drawn[] } = { at: 0, drawn: [] };

  constructor() {
    this.canvas = SharedCanvas.open(() => this.#drawAll());
    const { isSoftware } = this;
    this.#paces = { cloud: new DrawingPace(isSoftware), solid: new DrawingPace(isSoftware) };
  }

  get isSoftware(): boolean {
    return this.canvas?.isSoftware ?? true;
  }

  open(canvas: HTMLCanvasElement, ondrawn: (share: number) => void): StudioView {
    const easel = new Easel(canvas, ondrawn);
    this.#easels.add(easel);
    return {
      show: (shown) => {
        easel.show(shown);
        this.#schedule();
      },
      photograph: (background) => photograph(easel, background),
      close: () => this.#close(easel),
    };
  }

  #close(easel: Easel): void {
    this.#easels.delete(easel);
    if (this.canvas?.current?.easel === easel) this.canvas.current = null;
    easel.dispose();
  }

  #drawAll(): void {
    for (const easel of this.#easels) easel.isStale = true;
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    requestAnimationFrame((now) => this.#turn(now));
  }

  #turn(now: number): void {
    this.#isScheduled = false;
    const { canvas } = this;
    if (!canvas) return;
    this.#learnFromFrames(now);
    const stale = [...this.#easels].filter(({ isStale }) => isStale);
    const drawn = stale.length > 0 ? this.#beginSome(canvas, stale) : this.#refine(canvas);
    this.#lastTurn = { at: now, drawn };
    if (this.#findUnfinished()) this.#schedule();
  }

  /** Those that have waited longest come first, so that each gets its turn. */
  #beginSome(canvas: SharedCanvas, stale: readonly Easel[]): Drawn[] {
    const until = performance.now() + LONGEST_TURN_MS;
    const drawn: Drawn[] = [];
    for (const easel of stale.toSorted((one, other) => one.drawnAt - other.drawnAt)) {
      if (performance.now() > until) break;
      drawn.push(this.#draw(canvas, easel, 1 / stale.length, true));
      easel.isStale = false;
    }
    return drawn;
  }

  #refine(canvas: SharedCanvas): Drawn[] {
    const easel = this.#findUnfinished();
    return easel ? [this.#draw(canvas, easel, 1, false)] : [];
  }

  /** The one at hand goes on before another begins anew. */
  #findUnfinished(): Easel | undefined {
    const waiting = [...this.#easels].filter(
      ({ shown, isStale, seen }) => shown && (isStale || (seen < 1 && !shown.isMoving)),
    );
    return waiting.find((easel) => easel === this.canvas?.current?.easel) ?? waiting[0];
  }

  #draw(canvas: SharedCanvas, easel: Easel, share: number, isNew: boolean): Drawn {
    const { shown } = easel;
    const pace = easel.isCloud ? this.#paces.cloud : this.#paces.solid;
    if (!shown || shown.width === 0 || shown.height === 0) return { pace, elements: 0 };
    const began = performance.now();
    const part = canvas.draw(easel, shown, pace.most(shown.isMoving, share), isNew);
    // One that had to begin anew is not hung up before it is better than what hangs there.
    if (isNew || part.share > easel.seen) this.#hang(canvas, easel, shown, part.share);
    if (this.isSoftware) pace.learn(part.elements, performance.now() - began);
    return { pace, elements: part.elements };
  }

  #hang(canvas: SharedCanvas, easel: Easel, shown: Shown, share: number): void {
    canvas.copyTo(easel.canvas, shown);
    easel.drawnAt = performance.now();
    easel.seen = share;
    easel.tell();
  }

  /** A graphics card works beside the page: that it is late is seen by frames that are. */
  #learnFromFrames(now: number): void {
    const { at, drawn } = this.#lastTurn;
    const took = now - at;
    if (this.isSoftware || took < LATE_MS || took > IDLE_MS) return;
    for (const { pace, elements } of drawn) pace.learn(elements, took / drawn.length);
  }
}

interface Drawn {
  readonly pace: DrawingPace;
  readonly elements: number;
}

/** The picture as a file, on a background that it does not have on the page. */
async function photograph(easel: Easel, background: string): Promise<Blob> {
  while (easel.isStale || easel.seen < 1) await new Promise(requestAnimationFrame);
  const { canvas } = easel;
  const sheet = document.createElement('canvas');
  sheet.width = canvas.width;
  sheet.height = canvas.height;
  const pen = sheet.getContext('2d');
  if (pen) {
    pen.fillStyle = background;
    pen.fillRect(0, 0, sheet.width, sheet.height);
    pen.drawImage(canvas, 0, 0);
  }
  return new Promise((resolve, reject) =>
    sheet.toBlob((blob) => (blob ? resolve(blob) : reject(new Error('The picture is too large.')))),
  );
}

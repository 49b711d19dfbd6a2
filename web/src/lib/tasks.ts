/** Work that yields where it may be interrupted. */
export type Task<Result> = Generator<void, Result>;

/** Maximum time before the event loop gets control back. */
const SLICE_MS = 12;

/**
 * Run a long task in slices, so that the page stays responsive. Return a function that cancels it.
 */
export function runInSlices<Result>(
  work: Task<Result>,
  done: (result: Result) => void,
): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const go = (): void => {
    const until = performance.now() + SLICE_MS;
    let step = work.next();
    while (!step.done && performance.now() < until) step = work.next();
    if (step.done) done(step.value);
    else timer = setTimeout(go);
  };
  go();
  return () => clearTimeout(timer);
}

export function runToEnd<Result>(work: Task<Result>): Result {
  let step = work.next();
  while (!step.done) step = work.next();
  return step.value;
}

/**
 * Run work after the next paint, so that it does not delay what is being drawn. The work may return
 * a cleanup function. Return a function that cancels or cleans up.
 */
export function runAfterPaint(work: () => unknown): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let stop: unknown;
  // One frame to draw and one to present: without a GPU, another thread rasterizes meanwhile.
  let frame = requestAnimationFrame(() => {
    frame = requestAnimationFrame(() => {
      timer = setTimeout(() => (stop = work()));
    });
  });
  return () => {
    cancelAnimationFrame(frame);
    clearTimeout(timer);
    if (typeof stop === 'function') stop();
  };
}

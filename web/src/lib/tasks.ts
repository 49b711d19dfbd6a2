/** Work that says after each of its parts that it may pause there. */
export type Task<Result> = Generator<void, Result>;

/** After so long the page is to answer to its reader again, in milliseconds. */
const SLICE_MS = 12;

/** Does work that would keep the page busy a piece at a time. Returns how to call it off. */
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
 * Puts work off until what is being drawn now is on the screen; of what takes longer than the picture
 * nobody should have to wait for the picture. The work may tell how to call off what it began.
 * Returns how to call it off.
 */
export function runAfterPaint(work: () => unknown): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let stop: unknown;
  // One frame to draw it and one to show it: without a GPU another thread does that meanwhile.
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

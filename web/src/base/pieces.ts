/** Work that says after each of its parts that it may pause there. */
export type Work<Result> = Generator<void, Result>;

/** After so long the page is to answer to its reader again, in milliseconds. */
const PIECE_MS = 12;

/** Does work that would keep the page busy a piece at a time. Returns how to call it off. */
export function inPieces<Result>(work: Work<Result>, done: (result: Result) => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const go = (): void => {
    const until = performance.now() + PIECE_MS;
    let step = work.next();
    while (!step.done && performance.now() < until) step = work.next();
    if (step.done) done(step.value);
    else timer = setTimeout(go);
  };
  go();
  return () => clearTimeout(timer);
}

export function atOnce<Result>(work: Work<Result>): Result {
  let step = work.next();
  while (!step.done) step = work.next();
  return step.value;
}

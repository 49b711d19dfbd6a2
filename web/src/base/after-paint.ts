/**
 * Puts work off until what is being drawn now is on the screen; of what takes longer than the picture
 * nobody should have to wait for the picture. The work may tell how to call off what it began.
 * Returns how to call it off.
 */
export function afterPaint(work: () => unknown): () => void {
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

import { getTransport } from '../api/client';
import { QueryCache } from '../api/query-cache';

/** The queries of the page. */
export const queries = new QueryCache({ transport: getTransport(), afterPaint: waitForPaint });

/** Wait until what was changed now is on the screen, so that it is not held up by later responses. */
async function waitForPaint(): Promise<void> {
  await nextFrame();
  await nextFrame();
}

/** A hidden page draws nothing, so there is nothing to wait for. */
function nextFrame(): Promise<unknown> {
  return new Promise((resolve) =>
    document.hidden ? resolve(null) : requestAnimationFrame(resolve),
  );
}

import { getTransport } from '../api/client';
import { QueryCache } from '../api/query-cache';

/** Create the cache of one mounted page. */
export function createQueryCache(): QueryCache {
  return new QueryCache({ transport: getTransport(), afterPaint: waitForPaint });
}

/** Wait until the last changes are on the screen, so that later responses do not delay them. */
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

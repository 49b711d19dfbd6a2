import { findDoor } from './door';
import { LiveConnection, type LiveHandlers } from './live-connection';
import { openSharedStream } from './shared-stream';

/**
 * Follows the changes of the board since `cursor` until the function it returns is called. A page
 * that is hidden stops following, and catches up when it is visible again.
 *
 * A browser allows one server only six connections, for all tabs and frames together. So the event
 * stream is in a worker that they share, and where there is none the page polls.
 */
export function followLive(cursor: string, handlers: LiveHandlers): () => void {
  // A static copy of a board never changes.
  if (findDoor()) return () => undefined;
  const connection = new LiveConnection({ baseUrl: '', cursor }, handlers, openSharedStream, 1);
  const update = (): void => (document.hidden ? connection.stop() : connection.start());
  // Browsers also send this when a page is left or a frame is removed.
  document.addEventListener('visibilitychange', update);
  update();
  return () => {
    document.removeEventListener('visibilitychange', update);
    connection.stop();
  };
}

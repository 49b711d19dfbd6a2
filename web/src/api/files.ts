import { findDoor } from './door';

/** Addresses of what a copy carries, as long as the page is open. */
const carried = new Map<string, Promise<string>>();

/** What an image or a link can show: with a server the address itself. */
export function findFileUrl(path: string): Promise<string> {
  const door = findDoor();
  if (!door) return Promise.resolve(path);
  const known = carried.get(path);
  if (known) return known;
  const url = door.answer(path, {}).then((file) => URL.createObjectURL(file as Blob));
  carried.set(path, url);
  // A script that was missing may be there the next time.
  url.catch(() => carried.delete(path));
  return url;
}

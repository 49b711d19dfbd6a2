import { Latest } from './latest.svelte';
import type { Pictures } from './pictures';

/** The picture at a path that changes; null asks for none. To be called where effects live. */
export function followPicture(
  pictures: Pictures,
  getPath: () => string | null,
): Latest<string, string> {
  const url = new Latest<string, string>((path) => pictures.load(path));
  // What is at hand is there with the next frame, so that a series plays without flicker.
  $effect.pre(() => {
    const path = getPath();
    if (path === null) return;
    const found = pictures.find(path);
    if (found === undefined) url.want(path);
    else url.put(found);
  });
  $effect(() => () => url.stop());
  return url;
}

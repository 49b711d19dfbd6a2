import type { PartAbout } from '../../../api/images';
import type { Size } from '../geometry/arrange';
import type { Value } from './value';

/** Longest sides, in pixels, in which the server makes small copies of pictures. */
const SIDES = [64, 128, 256, 512, 1024, 2048];

/** The one that a copy of a board carries. */
const CARRIED_SIDE = 512;

/** The longest side that a picture takes of the screen, in its pixels, within a box of the page. */
export function sideIn({ width, height }: Size, box: Size, devicePixels: number): number {
  const scale = Math.min(box.width / width, box.height / height) * devicePixels;
  return Math.max(width, height) * Math.min(1, scale);
}

/** Where to get a picture that is sharp at `side` pixels of the screen. */
export function pathFor(value: Value, about: PartAbout, side: number, isStatic: boolean): string {
  const { part } = about;
  if (isStatic) return value.path('thumbnail', { part, size: CARRIED_SIDE });
  const size = SIDES.find((one) => one >= side - 0.5);
  if (size !== undefined) return value.path('thumbnail', { part, size });
  return about.tiled ? value.path('thumbnail', { part, size: 2048 }) : wholePath(value, about);
}

/** Where the picture is as it was logged. */
export function wholePath(value: Value, { part }: PartAbout): string {
  return value.path('picture', { part });
}

/** Whether something behind the picture is seen through it. */
export function hasAlpha({ mode }: PartAbout): boolean {
  return /A|P/.test(mode);
}

/** What kind of file it is, in few words. */
export function describe(about: PartAbout): string {
  const { format, width, height, bits, mode, frames } = about;
  return [
    width > 0 ? `${width} × ${height}` : '',
    format,
    bits > 8 ? `${bits} bit` : '',
    /^(L|I|F)/.test(mode) ? 'grey' : '',
    /A/.test(mode) ? 'with alpha' : '',
    frames > 1 ? `${frames} frames` : '',
  ]
    .filter(Boolean)
    .join(' · ');
}

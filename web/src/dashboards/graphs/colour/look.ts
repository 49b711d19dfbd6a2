import { brightnessOf, channelsOf, shadesFor } from '../../../charts/colour/ramp';
import type { Palette } from '../../../charts/picture/palette';
import { canOpen, type GraphNode } from '../data/model';

/** The colours of a node; with `parts` it is filled with several, by their shares. */
export interface Look {
  readonly fill: string;
  readonly edge: string;
  readonly ink: string;
  readonly parts: readonly { readonly colour: string; readonly share: number }[];
}

const TINT = 0.2;
const EDGE = 0.75;

/** `share` of one colour over another. */
export function mix(colour: string, over: string, share: number): string {
  const below = channelsOf(over);
  const mixed = channelsOf(colour).map((channel, at) =>
    Math.round(channel * share + (below[at] ?? 0) * (1 - share)),
  );
  return `rgb(${mixed.join(', ')})`;
}

export function plainLook(node: GraphNode, palette: Palette): Look {
  const fill = canOpen(node) ? mix(palette.label, palette.paper, 0.1) : palette.paper;
  return { fill, edge: palette.axis, ink: palette.text, parts: [] };
}

export function tintedLook(colour: string, palette: Palette): Look {
  return {
    fill: mix(colour, palette.paper, TINT),
    edge: mix(colour, palette.paper, EDGE),
    ink: palette.text,
    parts: [],
  };
}

/** How much of something there is in a node, from 0 to 1. */
export function shadedLook(share: number, palette: Palette): Look {
  const fill = shadeOf(share, palette);
  // Both inks stand out from the middle of the ramp; beyond it only that of the other end does.
  const isDark = brightnessOf(fill) < 0.62;
  return { fill, edge: palette.axis, ink: isDark ? '#ffffff' : '#1c1c22', parts: [] };
}

/** The ends of the ramp are left out: the paper itself, and what is too dark to be told apart. */
export function shadeOf(share: number, { paper }: Palette): string {
  const at = 4 * Math.round(255 * (0.06 + 0.8 * Math.min(1, Math.max(0, share))));
  const [red, green, blue] = shadesFor(paper).slice(at, at + 3);
  return `rgb(${red}, ${green}, ${blue})`;
}

export function partedLook(
  parts: readonly { readonly colour: string; readonly share: number }[],
  palette: Palette,
): Look {
  const [first, second] = parts;
  if (first && !second) return tintedLook(first.colour, palette);
  const tinted = parts.map(({ colour, share }) => ({
    colour: mix(colour, palette.paper, 2 * TINT),
    share,
  }));
  return { fill: palette.paper, edge: palette.axis, ink: palette.text, parts: tinted };
}

import { RUN_COLOURS } from '../../../../base/colour';
import { channelsOf } from '../../../../charts/colour/ramp';

/** How much of a colour is in a bar that words stand on. */
const STRENGTH = { light: 0.52, dark: 0.62 };
const PALE = 0.16;
const STRIPE = 0.2;
/** A block is the paler the less of its time something went on in it. */
export const BUSY_STEPS = 8;
const LEAST_BUSY = 0.35;

/** Colours as pixels take them, mixed for one paper. */
export interface Shades {
  readonly paper: number;
  /** A stripe behind tracks, where steps change. */
  readonly stripe: number;
  readonly line: number;
  /** For each hue the colours of blocks from the least busy on; the last is that of an event. */
  readonly bars: Uint32Array;
  /** The same, of what is not looked for. */
  readonly pale: Uint32Array;
}

export const HUES = RUN_COLOURS.length;

export function mixShades(paper: string, line: string, isDark: boolean): Shades {
  const on = channelsOf(paper);
  const strength = isDark ? STRENGTH.dark : STRENGTH.light;
  const ramp = (most: number): Uint32Array =>
    Uint32Array.from(
      RUN_COLOURS.flatMap((colour) =>
        Array.from({ length: BUSY_STEPS }, (_, step) => {
          const busy = LEAST_BUSY + ((1 - LEAST_BUSY) * step) / (BUSY_STEPS - 1);
          return pixelOf(mix(channelsOf(colour), on, most * busy));
        }),
      ),
    );
  return {
    paper: pixelOf(on),
    stripe: pixelOf(mix(channelsOf(line), on, STRIPE)),
    line: pixelOf(channelsOf(line)),
    bars: ramp(strength),
    pale: ramp(PALE),
  };
}

/** The colour of a hue, as a swatch beside the name of an event has it. */
export function colourOfHue(hue: number): string {
  return RUN_COLOURS[hue % HUES] ?? RUN_COLOURS[0];
}

function mix(one: readonly number[], other: readonly number[], share: number): number[] {
  return one.map((channel, at) => share * channel + (1 - share) * (other[at] ?? 0));
}

/** Little endian, as all machines are that browsers run on. */
function pixelOf([red = 0, green = 0, blue = 0]: readonly number[]): number {
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

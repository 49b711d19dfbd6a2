/**
 * Run colours, in an order in which neighbours are told apart by colour-blind eyes as well. Each has
 * a contrast of 3:1 against both the light and the dark background.
 */
export const RUN_COLOURS = [
  '#4269d0',
  '#dd7900',
  '#2f9e5b',
  '#c2379a',
  '#0d97a8',
  '#b0413e',
  '#7a5cc7',
  '#8a6d1a',
  '#e0559a',
  '#4d7c0f',
  '#5b6b82',
  '#b45309',
  '#1d74b8',
  '#e2604f',
  '#3f8f8b',
  '#a06bd6',
  '#a98700',
  '#6f9a1f',
  '#c93060',
  '#2b7a5f',
  '#8f6650',
  '#5f8dd3',
  '#7f8a70',
  '#a35b91',
] as const;

const HALF = /(?:^|[/_.-])(train|training|val|valid|validation|eval|evaluation|test)$/i;

/**
 * A run's own colour: the same in every tab, on every machine, whatever other runs there are. The
 * halves of an experiment that train and validate share one. Names that differ only in a number, as
 * those of a sweep do, mostly take different ones.
 */
export function runColour(name: string): string {
  const colour = known.get(name) ?? makeColour(name);
  known.set(name, colour);
  return colour;
}

/**
 * Colours for the runs of one log, given by age. The first experiments, as many as there are colours,
 * get one each: their own, or the next that none of the older ones has. So a small log has no two
 * alike, and no run that is yet to come changes the colour of one that is there.
 */
export function assignColours(namesByAge: Iterable<string>): Map<string, string> {
  const assigned = new Map<string, string>();
  const taken = new Set<string>();
  for (const name of namesByAge) {
    if (taken.size === RUN_COLOURS.length) break;
    const experiment = name.replace(HALF, '');
    const colour = assigned.get(experiment) ?? nextFree(runColour(name), taken);
    taken.add(colour);
    assigned.set(experiment, colour).set(name, colour);
  }
  return assigned;
}

function nextFree(wanted: string, taken: ReadonlySet<string>): string {
  const first = RUN_COLOURS.findIndex((colour) => colour === wanted);
  const round = [...RUN_COLOURS.slice(first), ...RUN_COLOURS.slice(0, first)];
  return round.find((colour) => !taken.has(colour)) ?? wanted;
}

/** Those of ten thousand runs take a while to make, and never change. */
const known = new Map<string, string>();

function makeColour(name: string): string {
  let numbers = 0;
  const words = name.replace(HALF, '').replace(/\d+/g, (digits) => {
    numbers += weigh(digits);
    return '#';
  });
  return RUN_COLOURS[(hash(words) + numbers) % RUN_COLOURS.length] ?? RUN_COLOURS[0];
}

/**
 * Numbers up to the count of colours weigh as much as they are, so that 0, 1, 2, … differ. Above it each
 * digit, in a system with that base, has a weight of its own: powers of two, which sweeps are full of,
 * would else share two or three colours. Zeros in front count as well: the learning rates 0.3 and 0.03
 * differ in nothing else.
 */
function weigh(digits: string): number {
  const zeros = /^0+(?=\d)/.exec(digits)?.[0].length ?? 0;
  let weight = 5 * zeros;
  let rest = Number(digits.slice(-6));
  for (const factor of [1, 7, 5, 11]) {
    weight += factor * (rest % RUN_COLOURS.length);
    rest = Math.floor(rest / RUN_COLOURS.length);
  }
  return weight;
}

/** Lines of a run that validates are dashed, so that colour is not all that sets them apart. */
export function isValidation(name: string): boolean {
  const half = HALF.exec(name)?.[1]?.toLowerCase() ?? 'train';
  return !half.startsWith('train');
}

/** FNV-1a, 32 bit. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) {
    value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  }
  return value >>> 0;
}

/** Contrast of two `#rrggbb` colours as WCAG defines it, from 1 to 21. */
export function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const channel = parseInt(colour.slice(at, at + 2), 16) / 255;
    return channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** Ends and middles of the scale; as with run colours each is seen on both backgrounds. */
const SCALE = ['#3f6fe0', '#7d62cf', '#b04fa5', '#cf4d66', '#d4652a', '#b98200'] as const;

/** A shade for a place from 0 to 1: the hue runs from blue to amber, as colour-blind eyes see it. */
export function scaleColour(place: number): string {
  const along = Math.min(1, Math.max(0, place)) * (SCALE.length - 1);
  const before = Math.min(SCALE.length - 2, Math.floor(along));
  const [from, to] = [SCALE[before] ?? SCALE[0], SCALE[before + 1] ?? SCALE[0]];
  return mix(from, to, along - before);
}

function mix(one: string, other: string, share: number): string {
  const channels = [1, 3, 5].map((at) => {
    const [from, to] = [one, other].map((colour) => parseInt(colour.slice(at, at + 2), 16));
    const value = Math.round((from ?? 0) * (1 - share) + (to ?? 0) * share);
    return value.toString(16).padStart(2, '0');
  });
  return `#${channels.join('')}`;
}

import { RUN_COLOURS } from '../../base/colour';

const [BLUE, ORANGE, GREEN, PINK, TEAL, RED, VIOLET, OCHRE] = RUN_COLOURS;
const GREY = '#8e8e9c';

/** What the program is for is blue; what keeps it waiting stands out against that. */
const PARTS: Readonly<Record<string, string>> = {
  device_compute: BLUE,
  host_compute: TEAL,
  input: ORANGE,
  host_to_device: PINK,
  device_to_device: VIOLET,
  output: OCHRE,
  kernel_launch: RED,
  collectives: GREEN,
  compilation: '#e0559a',
};

export function colourOfPart(name: string): string {
  return PARTS[name] ?? GREY;
}

export const HOST_COLOUR = TEAL;
export const DEVICE_COLOUR = BLUE;

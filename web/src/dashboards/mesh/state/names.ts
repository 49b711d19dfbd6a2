import type { FORMS, LENSES, LIGHTS, SHADES, SHADINGS, UPS } from './settings';

type Names<Words extends readonly string[]> = readonly (readonly [Words[number], string])[];

/** What the choices are called. */
export const FORM_NAMES: Names<typeof FORMS> = [
  ['auto', 'As logged'],
  ['surface', 'Surface'],
  ['edges', 'Edges'],
  ['wires', 'Wires'],
  ['points', 'Points'],
];
export const SHADE_NAMES: Names<typeof SHADES> = [
  ['auto', 'Automatic'],
  ['logged', 'Logged'],
  ['height', 'By height'],
  ['run', 'Of the run'],
  ['plain', 'Grey'],
];
export const SHADING_NAMES: Names<typeof SHADINGS> = [
  ['auto', 'As logged'],
  ['smooth', 'Smooth'],
  ['flat', 'Flat'],
];
export const UP_NAMES: Names<typeof UPS> = [
  ['auto', 'As logged'],
  ['y', 'y'],
  ['z', 'z'],
];
export const LENS_NAMES: Names<typeof LENSES> = [
  ['auto', 'As logged'],
  ['perspective', 'Perspective'],
  ['orthographic', 'Parallel'],
];
export const LIGHT_NAMES: Names<typeof LIGHTS> = [
  ['logged', 'As logged'],
  ['head', 'From the eye'],
];

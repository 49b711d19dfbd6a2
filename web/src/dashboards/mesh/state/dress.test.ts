import { expect, test } from 'vitest';

import type { Geometry, LoggedLook } from '../data/geometry';
import { dressOf, lensOf, lightsOf, upWanted, type Wishes } from './dress';

const RUN = '#123456';

function mesh(look: LoggedLook = {}, rest: Partial<Geometry> = {}): Geometry {
  return {
    about: {
      step: 0,
      wall_time: 0,
      items: 1,
      item: 0,
      points: 1,
      drawable: 1,
      faces: 0,
      low: [0, 0, 0],
      high: [1, 1, 1],
      radius: 1,
      parts: {},
      look,
      notes: [],
    },
    centre: [0, 0, 0],
    scale: 1,
    position: new Float32Array(3),
    face: null,
    normal: null,
    color: null,
    ...rest,
  };
}

const wish = (name: string, value: unknown): Wishes => ({ [name]: { value } });

test('a cloud without colours is coloured by height, or by run beside others', () => {
  expect(dressOf({}, mesh(), RUN, false).shade).toBe('height');
  expect(dressOf({}, mesh(), RUN, true).shade).toEqual({ plain: RUN });
});

test('a surface without colours is grey, and one with colours has those', () => {
  const face = new Int32Array(3);
  expect(dressOf({}, mesh({}, { face }), RUN, false).shade).toEqual({ plain: '#9aa0a8' });
  const color = new Uint8Array(3);
  expect(dressOf({}, mesh({}, { face, color }), RUN, true).shade).toBe('logged');
});

test('logged settings hold until somebody says otherwise', () => {
  const look: LoggedLook = {
    camera: { fov: 75, orthographic: true, up: [0, 0, 1] },
    lights: [{ kind: 'ambient' }],
    material: { wireframe: true, flat_shading: true, color: '#ff0000' },
  };
  const dress = dressOf({}, mesh(look), RUN, false);
  expect([dress.form, dress.flat, dress.shade]).toEqual(['wires', true, { plain: '#ff0000' }]);
  expect(lensOf({}, look)).toEqual({ fov: 75, orthographic: true });
  expect(upWanted({}, look)).toBe('z');
  expect(lightsOf({}, look)).toHaveLength(1);

  expect(dressOf(wish('form', 'points'), mesh(look), RUN, false).form).toBe('points');
  expect(dressOf(wish('shading', 'smooth'), mesh(look), RUN, false).flat).toBe(false);
  expect(dressOf(wish('shade', 'run'), mesh(look), RUN, false).shade).toEqual({ plain: RUN });
  expect(lensOf(wish('fov', 500), look).fov).toBe(120);
  expect(lensOf(wish('lens', 'perspective'), look).orthographic).toBe(false);
  expect(upWanted(wish('up', 'y'), look)).toBe('y');
  expect(lightsOf(wish('lights', 'head'), look)).toEqual([]);
});

test('without anything logged the lens is the usual one', () => {
  expect(lensOf({}, undefined)).toEqual({ fov: 40, orthographic: false });
  expect(upWanted({}, undefined)).toBe('y');
});

import { expect, test } from 'vitest';

import { HOME, type Orbit } from './orbit';
import { handOf, pressKey, type Turned } from './hand';

function open() {
  const seen = { orbit: HOME as Orbit, fits: 0 };
  const find = (): Turned => ({
    orbit: seen.orbit,
    lens: { fov: 40, orthographic: false, aspect: 1 },
    up: 'y',
    height: 300,
    turn: (orbit) => (seen.orbit = orbit),
    fit: () => seen.fits++,
  });
  return { seen, find, hand: handOf(find) };
}

const press = (find: () => Turned, key: string, shiftKey = false): boolean =>
  pressKey({ key, shiftKey } as KeyboardEvent, find());

test('a drag counts from where it began', () => {
  const { seen, hand } = open();
  hand.drag({ x: 0, y: 0 }, { x: 50, y: 0 });
  hand.drag({ x: 0, y: 0 }, { x: 100, y: 0 });
  expect(seen.orbit.yaw).toBeCloseTo(HOME.yaw - Math.PI / 3);
  hand.drop({ x: 0, y: 0 }, { x: 100, y: 0 });
  hand.drag({ x: 0, y: 0 }, { x: -100, y: 0 });
  expect(seen.orbit.yaw).toBeCloseTo(HOME.yaw);
});

test('a drag that is given up leaves no trace', () => {
  const { seen, hand } = open();
  hand.drag({ x: 0, y: 0 }, { x: 50, y: 20 });
  hand.cancel();
  expect(seen.orbit).toBe(HOME);
});

test('keys turn, move, zoom and fit', () => {
  const { seen, find } = open();
  press(find, 'ArrowRight');
  expect(seen.orbit.yaw).toBeLessThan(HOME.yaw);
  press(find, 'ArrowUp', true);
  expect(seen.orbit.target).not.toEqual(HOME.target);
  press(find, '+');
  press(find, '+');
  press(find, '-');
  expect(seen.orbit.zoom).toBeCloseTo(1.25);
  press(find, '0');
  expect(seen.fits).toBe(1);
  expect(press(find, 'x')).toBe(false);
});

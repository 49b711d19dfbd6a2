import { expect, test } from 'vitest';

import type { Codec } from '../../../base/codec';
import type { Address, Param } from '../../../plugin/context';
import { HOME } from '../../../charts/space/orbit';
import { openMeshSettings } from './settings';

/** An address that keeps texts, as the page's does. */
function openAddress(texts: Record<string, string> = {}) {
  const address: Address = {
    param<Value>(name: string, codec: Codec<Value>, fallback: Value): Param<Value> {
      return {
        get value() {
          const text = texts[name];
          return text === undefined ? fallback : codec.parse(text);
        },
        set(value) {
          texts[name] = codec.format(value);
        },
      };
    },
  };
  return { address, texts };
}

test('cameras of single cards survive the address', () => {
  const { address, texts } = openAddress();
  const turned = { ...HOME, yaw: 1.5, target: [0.5, 0, 0] as const };
  openMeshSettings(address).orbits.set(
    new Map([
      ['a,b', HOME],
      ['c', turned],
    ]),
  );
  expect([...openMeshSettings(openAddress(texts).address).orbits.value]).toEqual([
    ['a,b', HOME],
    ['c', turned],
  ]);
});

test('what makes no sense in an address is as if it were not there', () => {
  const { address } = openAddress({
    camera: 'x',
    'mesh-draw': 'lava',
    'mesh-size': 'big',
    'own-cameras': 'a,1,2',
    'mesh-item': '?',
  });
  const settings = openMeshSettings(address);
  expect(settings.orbit.value).toBeNull();
  expect(settings.form.value).toBe('auto');
  expect(settings.pointSize.value).toBeNull();
  expect(settings.orbits.value.size).toBe(0);
  expect(settings.item.value).toBe(0);
});

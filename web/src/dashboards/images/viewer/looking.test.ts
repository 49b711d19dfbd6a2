import { describe, expect, it } from 'vitest';

import type { Param } from '../../../plugin/context';
import { type Pane, type Viewport, WHOLE } from '../geometry/viewport';
import { Looking } from './looking.svelte';

function makePane(size: number): Pane {
  return { place: { width: size, height: size }, picture: { width: 1000, height: 1000 } };
}

function makeLooking(): Looking {
  let value: Viewport = WHOLE;
  const viewport: Param<Viewport> = {
    get value() {
      return value;
    },
    set: (changed) => void (value = changed),
  };
  return new Looking(viewport);
}

describe('the pane that keys act on', () => {
  it('has its current size', () => {
    const looking = makeLooking();
    looking.setPane('a', makePane(40));
    looking.setPane('a', makePane(500));
    expect(looking.pane).toEqual(makePane(500));
  });

  it('is the first one, until another one is active', () => {
    const looking = makeLooking();
    looking.setPane('a', makePane(500));
    looking.setPane('b', makePane(250));
    expect(looking.pane).toEqual(makePane(500));
    looking.activatePane('b');
    expect(looking.pane).toEqual(makePane(250));
  });

  it('is another one after it is removed', () => {
    const looking = makeLooking();
    looking.setPane('a', makePane(500));
    looking.setPane('b', makePane(250));
    looking.activatePane('a');
    looking.removePane('a');
    expect(looking.pane).toEqual(makePane(250));
    looking.removePane('b');
    expect(looking.pane).toBeNull();
  });
});

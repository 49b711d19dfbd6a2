import type { Shortcut } from '../plugin/context';
import type { Card } from './card';
import { toggleName } from './card-set';
import type { CardWall } from './card-wall.svelte';

/** The keys that all walls have; returns how to take them back. */
export function registerWallKeys<C extends Card>(
  wall: CardWall<C>,
  focusFilter: () => void,
  hasPanel: boolean,
): () => void {
  const group = wall.about.title;
  const stops = keysOf(wall, focusFilter, hasPanel).map((key) =>
    wall.context.keys.register({ ...key, group }),
  );
  return () => stops.forEach((stop) => stop());
}

function keysOf<C extends Card>(
  wall: CardWall<C>,
  focusFilter: () => void,
  hasPanel: boolean,
): Omit<Shortcut, 'group'>[] {
  const { panel, pinned, fullScreen } = wall.settings;
  const settings = { keys: 's', label: 'Settings', run: () => panel.set(!panel.value) };
  return [
    { keys: 'f', label: 'Filter tags', run: focusFilter },
    ...(hasPanel ? [settings] : []),
    {
      keys: 'm',
      label: 'Full screen, and back',
      run: () => fullScreen.set(fullScreen.value === null ? wall.current : null, 'push'),
    },
    {
      keys: 'p',
      label: 'Pin card',
      run: () => wall.current !== null && pinned.set(toggleName(pinned.value, wall.current)),
    },
    { keys: 'Escape', label: 'Let go, or leave the full screen', run: () => wall.letGo() },
  ];
}

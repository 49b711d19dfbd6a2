import type { Shortcut } from '../../plugin/context';
import type { Projector } from './projector.svelte';
import { dimensionsOf } from './state/method';
import type { Tool } from './state/params';

/** The keys of the view; returns how to take them back. */
export function registerKeys(projector: Projector, focusSearch: () => void): () => void {
  const { camera, choice, params, look } = projector;
  const take = (tool: Tool) => (): void => {
    projector.tool = projector.tool === tool ? 'move' : tool;
  };
  const flip = (): void => params.dimensions.set(dimensionsOf(params) === 2 ? '3' : '2');
  const shortcuts: Omit<Shortcut, 'group'>[] = [
    { keys: 'f', label: 'Find points', run: focusSearch },
    { keys: 'z', label: 'See all points', run: () => camera.fit() },
    { keys: 'd', label: 'In the plane or in space', run: flip },
    { keys: 'b', label: 'Choose points in a box', run: take('box') },
    { keys: 'l', label: 'Choose points with a lasso', run: take('lasso') },
    { keys: 'i', label: 'Look at the chosen points alone', run: () => choice.isolate() },
    { keys: 'h', label: 'Hide the chosen points', run: () => choice.hide() },
    { keys: 'v', label: 'Choose the others', run: () => choice.turnRound(look.seen) },
    { keys: 'a', label: 'Show all points', run: () => choice.showAll() },
    { keys: 'Escape', label: 'Let go of what is chosen', run: () => projector.letGo() },
  ];
  const stops = shortcuts.map((shortcut) =>
    projector.context.keys.register({ ...shortcut, group: 'Projector' }),
  );
  return () => stops.forEach((stop) => stop());
}

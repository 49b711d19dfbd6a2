import type { Shortcut } from '../../plugin/context';
import type { Mesh } from './mesh.svelte';
import { FORMS } from './state/settings';

/** The keys of the view; returns how to take them back. */
export function registerKeys(mesh: Mesh): () => void {
  const { settings, wall, choice } = mesh;
  const { form, axes, grid, overlay, shareCamera } = settings;
  const shortcuts: Omit<Shortcut, 'group'>[] = [
    {
      keys: 'w',
      label: 'Surface, edges, wires or points',
      run: () => form.set(FORMS[(FORMS.indexOf(form.value) + 1) % FORMS.length] ?? 'auto'),
    },
    { keys: 'a', label: 'Axes', run: () => axes.set(!axes.value) },
    { keys: 'g', label: 'Grid', run: () => grid.set(!grid.value) },
    { keys: 'o', label: 'All runs in one picture', run: () => overlay.set(!overlay.value) },
    {
      keys: 'c',
      label: 'One camera for all cards',
      run: () => mesh.shareCamera(!shareCamera.value, wall.current),
    },
    { keys: 'l', label: 'Same step in all cards', run: () => choice.link(!choice.linked.value) },
  ];
  const stops = shortcuts.map((shortcut) =>
    wall.context.keys.register({ ...shortcut, group: wall.about.title }),
  );
  return () => stops.forEach((stop) => stop());
}

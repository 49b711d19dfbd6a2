import type { Shortcut } from '../../plugin/context';
import { usualPair } from './compare/sides';
import type { Images } from './images.svelte';

/** The keys of the view; returns how to take them back. */
export function registerKeys(images: Images): () => void {
  const { settings, wall, choice } = images;
  const { layout, actual, moving, scaling } = settings;
  const shortcuts: Omit<Shortcut, 'group'>[] = [
    {
      keys: 'g',
      label: 'Grid of runs and steps, and back',
      run: () => layout.set(layout.value === 'grid' ? 'pictures' : 'grid'),
    },
    { keys: 'c', label: 'Compare two pictures', run: () => compare(images) },
    { keys: 'a', label: 'Actual size in cards', run: () => actual.set(!actual.value) },
    { keys: 'l', label: 'Same step in all cards', run: () => choice.link(!choice.linked.value) },
    {
      keys: 'i',
      label: 'Smooth or crisp pixels',
      run: () => scaling.set(scaling.value === 'crisp' ? 'smooth' : 'crisp'),
    },
    { keys: 'k', label: 'Play or pause animations', run: () => moving.set(!moving.value) },
  ];
  const stops = shortcuts.map((shortcut) =>
    wall.context.keys.register({ ...shortcut, group: wall.about.title }),
  );
  return () => stops.forEach((stop) => stop());
}

/** The card that keys are for. */
function currentTag({ wall }: Images): string | undefined {
  const id = wall.settings.fullScreen.value ?? wall.current;
  return id === null ? undefined : wall.findCard(id)?.tag;
}

function compare(images: Images): void {
  const { settings, wall } = images;
  const tag = currentTag(images);
  if (tag === undefined || wall.current === null) return;
  const series = images.withRuns(images.loader.find(tag) ?? []);
  wall.settings.fullScreen.set(wall.current, 'push');
  settings.compared.set(usualPair(series, settings.part.value));
}

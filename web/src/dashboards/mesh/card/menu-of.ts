import { valuePath } from '../../../api/values';
import type { TagCard } from '../../../wall/card';
import { placeAt } from '../../../wall/steps/steps';
import type { MenuItem } from '../../../widgets/menu';
import type { Mesh, RunSeries } from '../mesh.svelte';
import type { Sight } from './sight.svelte';

/** More runs would make a menu that nobody can read. */
const MOST_RUNS = 6;

/** What can be done with a card of meshes beside what every card offers. */
export function menuOf(
  mesh: Mesh,
  card: TagCard,
  sight: Sight,
  series: readonly RunSeries[],
  step: number | null,
): readonly (readonly MenuItem[])[] {
  const fit = (): void => {
    mesh.forgetOrbit(card.id);
    sight.fit();
  };
  return [
    [{ label: 'Fit', hint: '0', icon: 'fit', run: fit }],
    mesh.context.isStatic
      ? []
      : series.slice(0, MOST_RUNS).flatMap((one) => fileItems(mesh, one, series.length, step)),
  ];
}

function fileItems(
  mesh: Mesh,
  { run, steps }: RunSeries,
  count: number,
  step: number | null,
): MenuItem[] {
  const place = placeAt(steps, step);
  if (place < 0) return [];
  const of = count > 1 ? ` of ${run.label}` : '';
  return (['ply', 'obj'] as const).map((format) => ({
    label: `Download ${format.toUpperCase()}${of}`,
    ...(format === 'ply' ? { icon: 'download' as const } : {}),
    run: () => {
      const item = mesh.settings.item.value;
      location.assign(mesh.context.api.url(valuePath('file', steps, place, { item, format })));
    },
  }));
}

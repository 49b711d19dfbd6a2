import type { TagCard } from '../../../wall/card';
import type { MenuItem } from '../../../widgets/menu';
import { usualPair } from '../compare/sides';
import type { Images, RunSeries } from '../images.svelte';
import { archivePath } from '../takeaway/archive';

/** What can be done with a card of pictures beside what every card offers. */
export function menuOf(
  images: Images,
  card: TagCard,
  series: readonly RunSeries[],
  showPython: () => void,
): readonly (readonly MenuItem[])[] {
  const { settings, wall, context } = images;
  const compare = (): void => {
    wall.settings.fullScreen.set(card.id, 'push');
    settings.compared.set(usualPair(series, settings.part.value));
  };
  const save = (): void => {
    location.assign(
      context.api.url(
        archivePath(
          card.tag,
          series.map(({ run }) => run.name),
        ),
      ),
    );
  };
  return [
    [{ label: 'Compare two pictures', hint: 'c', disabled: series.length === 0, run: compare }],
    [
      ...(context.isStatic
        ? []
        : [{ label: 'Download all steps (zip)', icon: 'download' as const, run: save }]),
      { label: 'Copy as Python …', run: showPython },
    ],
  ];
}

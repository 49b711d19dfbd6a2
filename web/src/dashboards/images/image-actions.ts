import type { TagCard } from '../../cards/card-sections';
import { type LogRoot, openLogLines, quotePython } from '../../cards/export';
import type { MenuItem } from '../../components/menu';
import type { Shortcut } from '../../plugin/context';
import { defaultImagePair } from './compare/image-comparison';
import type { ImagesState, RunSeries } from './images-state.svelte';

/** The keys of the view; returns how to take them back. */
export function registerImageShortcuts(images: ImagesState): () => void {
  const { settings, cardGrid, stepSelection } = images;
  const { layout, actualSize, playAnimations, scaling } = settings;
  const shortcuts: Omit<Shortcut, 'group'>[] = [
    {
      keys: 'g',
      label: 'Grid of runs and steps, and back',
      run: () => layout.set(layout.value === 'grid' ? 'pictures' : 'grid'),
    },
    { keys: 'c', label: 'Compare two pictures', run: () => openComparison(images) },
    { keys: 'a', label: 'Actual size in cards', run: () => actualSize.set(!actualSize.value) },
    {
      keys: 'l',
      label: 'Same step in all cards',
      run: () => stepSelection.setLinked(!stepSelection.linked.value),
    },
    {
      keys: 'i',
      label: 'Smooth or crisp pixels',
      run: () => scaling.set(scaling.value === 'crisp' ? 'smooth' : 'crisp'),
    },
    {
      keys: 'k',
      label: 'Play or pause animations',
      run: () => playAnimations.set(!playAnimations.value),
    },
  ];
  const stops = shortcuts.map((shortcut) =>
    cardGrid.context.shortcuts.register({ ...shortcut, group: cardGrid.info.title }),
  );
  return () => stops.forEach((stop) => stop());
}

/** The card that keys are for. */
function currentTag({ cardGrid }: ImagesState): string | undefined {
  const id = cardGrid.settings.fullScreen.value ?? cardGrid.activeCardId;
  return id === null ? undefined : cardGrid.findCard(id)?.tag;
}

function openComparison(images: ImagesState): void {
  const { settings, cardGrid } = images;
  const tag = currentTag(images);
  if (tag === undefined || cardGrid.activeCardId === null) return;
  const series = images.withRuns(images.stepLoader.get(tag) ?? []);
  cardGrid.settings.fullScreen.set(cardGrid.activeCardId, 'push');
  settings.comparedPair.set(defaultImagePair(series, settings.part.value));
}

/** What can be done with a card of pictures beside what every card offers. */
export function imageCardMenu(
  images: ImagesState,
  card: TagCard,
  series: readonly RunSeries[],
  showPython: () => void,
): readonly (readonly MenuItem[])[] {
  const { settings, cardGrid, context } = images;
  const compare = (): void => {
    cardGrid.settings.fullScreen.set(card.id, 'push');
    settings.comparedPair.set(defaultImagePair(series, settings.part.value));
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

/** Where all pictures of a tag are to be had as one file; without runs, those of all. */
export function archivePath(tag: string, runs: readonly string[]): string {
  const query = [['tag', tag], ...runs.map((run) => ['run', run])];
  return `archive?${query.map(([key, value]) => `${key}=${encodeURIComponent(value ?? '')}`).join('&')}`;
}

/** What the lines of Python are to read. */
export interface ImagePythonOptions {
  readonly roots: readonly LogRoot[];
  readonly run: string;
  readonly tag: string;
  /** null: the last. */
  readonly step: number | null;
}

/** Lines of Python that read the same pictures, at all steps. */
export function imagePythonCode({ roots, run, tag, step }: ImagePythonOptions): string {
  return [
    ...openLogLines(roots),
    `images = log.images(${quotePython(run)}, ${quotePython(tag)})  # images.step: all steps`,
    `pictures = ${step === null ? 'images[-1]' : `images.at(${step})`}`,
    'arrays = pictures.to_arrays()  # each [height, width, channels]',
    '',
  ].join('\n');
}

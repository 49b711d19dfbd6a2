import type { Shortcut } from '../../../plugin/context';
import type { Trace } from './state/trace.svelte';

const ZOOM = 0.7;
const PAN = 0.12;
const SCROLL_PX = 54;

/** The keys of the trace viewer; returns how to take them back. */
export function registerKeys(trace: Trace, focusSearch: () => void): () => void {
  const { camera } = trace;
  const around = (): number => trace.pointer ?? 0.5;
  const scroll = (by: number): void =>
    trace.models.forEach((model) => model.scrollTo(model.scroll + by));
  const like = (which: 'next' | 'previous' | 'longest') => (): void => {
    const event = trace.active.event.answer?.same[which] ?? null;
    if (event !== null) trace.goTo(trace.active, event);
  };
  const zoomIn = (): void => camera.zoomBy(ZOOM, around());
  const zoomOut = (): void => camera.zoomBy(1 / ZOOM, around());
  const shortcuts: Omit<Shortcut, 'group'>[] = [
    { keys: 'w', label: 'Zoom in', run: zoomIn },
    { keys: 's', label: 'Zoom out', run: zoomOut },
    { keys: 'a', label: 'Earlier', run: () => camera.panBy(-PAN) },
    { keys: 'd', label: 'Later', run: () => camera.panBy(PAN) },
    { keys: 'ArrowLeft', label: 'Earlier', run: () => camera.panBy(-PAN) },
    { keys: 'ArrowRight', label: 'Later', run: () => camera.panBy(PAN) },
    { keys: 'ArrowUp', label: 'Tracks above', run: () => scroll(-SCROLL_PX) },
    { keys: 'ArrowDown', label: 'Tracks below', run: () => scroll(SCROLL_PX) },
    { keys: '+', label: 'Zoom in', run: zoomIn },
    { keys: '-', label: 'Zoom out', run: zoomOut },
    { keys: 'z', label: 'Whole trace', run: () => camera.fit() },
    { keys: 'e', label: 'Enlarge what is chosen or measured', run: () => trace.enlarge() },
    { keys: 'm', label: 'Measure the chosen event', run: () => trace.measureChosen() },
    { keys: 'f', label: 'Find events', run: focusSearch },
    { keys: 'n', label: 'Next that was found', run: () => trace.hits.go(1) },
    { keys: 'p', label: 'The one found before', run: () => trace.hits.go(-1) },
    { keys: ']', label: 'Next event of this name', run: like('next') },
    { keys: '[', label: 'Event of this name before', run: like('previous') },
    { keys: 'Shift+L', label: 'Longest event of this name', run: like('longest') },
    { keys: 'Escape', label: 'Let go of what is chosen', run: () => trace.letGo() },
  ];
  const stops = shortcuts.map((shortcut) =>
    trace.profile.context.keys.register({ ...shortcut, group: 'Trace' }),
  );
  return () => stops.forEach((stop) => stop());
}

import type { Shortcut } from '../../plugin/context';
import type { Card } from '../card';
import type { CardWall } from '../card-wall.svelte';
import type { StepChoice } from './choice';
import type { StepLoader } from './loader.svelte';
import { countUpTo, mergeSteps } from './steps';

/** The keys that go through steps; returns how to take them back. `play` starts and stops. */
export function registerStepKeys<C extends Card & { readonly tag: string }>(
  wall: CardWall<C>,
  choice: StepChoice,
  loader: StepLoader,
  play?: () => void,
): () => void {
  const go = (by: number) => (): void => move(wall, choice, loader, by);
  const shortcuts: Omit<Shortcut, 'group'>[] = [
    { keys: 'ArrowLeft', label: 'Step before', run: go(-1) },
    { keys: 'ArrowRight', label: 'Next step', run: go(1) },
    { keys: 'Home', label: 'First step', run: go(-Infinity) },
    { keys: 'End', label: 'Last step', run: go(Infinity) },
    ...(play ? [{ keys: ' ', label: 'Play the steps, or stop', run: play }] : []),
  ];
  const group = wall.about.title;
  const stops = shortcuts.map((key) => wall.context.keys.register({ ...key, group }));
  return () => stops.forEach((stop) => stop());
}

/** All cards, or where they are not linked the one that keys are for. */
function move<C extends Card & { readonly tag: string }>(
  wall: CardWall<C>,
  choice: StepChoice,
  loader: StepLoader,
  by: number,
): void {
  const id = wall.settings.fullScreen.value ?? wall.current ?? '';
  const tag = wall.findCard(id)?.tag ?? '';
  const steps = choice.linked.value ? loader.allSteps : mergeSteps(loader.find(tag) ?? []);
  const last = steps.length - 1;
  const step = choice.of(id);
  const at = step === null ? last : countUpTo(steps, step) - 1;
  const next = Math.min(last, Math.max(0, at + by));
  choice.set(id, next >= last ? null : (steps[next] ?? null));
}

import type { Shortcut } from '../../plugin/context';
import type { AudioView } from './audio.svelte';

/** Seconds that an arrow moves what plays, alone and with shift. */
const STEP_S = 0.5;
const LEAP_S = 5;

/** The keys of the view; returns how to take them back. */
export function registerKeys(view: AudioView): () => void {
  const { settings, player, wall } = view;
  const { looping, tones } = settings;
  const seek = (by: number) => (): void => {
    if (settings.clip.value) player.seek(player.position + by);
  };
  const shortcuts: Omit<Shortcut, 'group'>[] = [
    { keys: ' ', label: 'Play, or stop', run: () => view.toggleCurrent() },
    { keys: 'ArrowLeft', label: 'Back by half a second', run: seek(-STEP_S) },
    { keys: 'ArrowRight', label: 'On by half a second', run: seek(STEP_S) },
    { keys: 'Shift+ArrowLeft', label: 'Back by five seconds', run: seek(-LEAP_S) },
    { keys: 'Shift+ArrowRight', label: 'On by five seconds', run: seek(LEAP_S) },
    { keys: 'a', label: 'Mark as A, or go on with A', run: () => view.switchTo('a') },
    { keys: 'b', label: 'Mark as B, or go on with B', run: () => view.switchTo('b') },
    { keys: 'l', label: 'Play again and again', run: () => looping.set(!looping.value) },
    {
      keys: 't',
      label: 'Tones below the waves, or not',
      run: () => tones.set(tones.value === 'off' ? 'mel' : 'off'),
    },
  ];
  const stops = shortcuts.map((shortcut) =>
    wall.context.keys.register({ ...shortcut, group: wall.about.title }),
  );
  return () => stops.forEach((stop) => stop());
}

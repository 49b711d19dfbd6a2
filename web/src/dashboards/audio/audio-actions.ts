import { type LogRoot, openLogLines, quotePython } from '../../cards/export';
import type { Shortcut } from '../../plugin/context';
import type { AudioState } from './audio-state.svelte';

/** Seconds that an arrow moves what plays, alone and with shift. */
const SEEK_STEP_S = 0.5;
const SEEK_JUMP_S = 5;

/** The keys of the view; returns how to take them back. */
export function registerAudioShortcuts(view: AudioState): () => void {
  const { settings, player, cardGrid } = view;
  const { loop, spectrogram } = settings;
  const seek = (by: number) => (): void => {
    if (settings.clip.value) player.seek(player.position + by);
  };
  const shortcuts: Omit<Shortcut, 'group'>[] = [
    { keys: ' ', label: 'Play, or stop', run: () => view.toggleCurrent() },
    { keys: 'ArrowLeft', label: 'Back by half a second', run: seek(-SEEK_STEP_S) },
    { keys: 'ArrowRight', label: 'On by half a second', run: seek(SEEK_STEP_S) },
    { keys: 'Shift+ArrowLeft', label: 'Back by five seconds', run: seek(-SEEK_JUMP_S) },
    { keys: 'Shift+ArrowRight', label: 'On by five seconds', run: seek(SEEK_JUMP_S) },
    { keys: 'a', label: 'Mark as A, or go on with A', run: () => view.switchTo('a') },
    { keys: 'b', label: 'Mark as B, or go on with B', run: () => view.switchTo('b') },
    { keys: 'l', label: 'Play again and again', run: () => loop.set(!loop.value) },
    {
      keys: 't',
      label: 'Tones below the waves, or not',
      run: () => spectrogram.set(spectrogram.value === 'off' ? 'mel' : 'off'),
    },
  ];
  const stops = shortcuts.map((shortcut) =>
    cardGrid.context.shortcuts.register({ ...shortcut, group: cardGrid.info.title }),
  );
  return () => stops.forEach((stop) => stop());
}

/** What the lines of Python are to read. */
export interface AudioPythonOptions {
  readonly roots: readonly LogRoot[];
  readonly runs: readonly string[];
  readonly tag: string;
}

/** Lines of Python that read the same clips, at all steps. */
export function audioPythonCode({ roots, runs, tag }: AudioPythonOptions): string {
  return [
    ...openLogLines(roots),
    `for run in [${runs.map(quotePython).join(', ')}]:`,
    `    clips = log.audio(run, ${quotePython(tag)})  # clips.step: all steps`,
    '    sounds = clips[-1].to_arrays()  # each [frames, channels] in [-1, 1]; WAV only',
    '',
  ].join('\n');
}

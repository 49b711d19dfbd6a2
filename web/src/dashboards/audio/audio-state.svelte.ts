import { createContext } from 'svelte';
import { SvelteMap, SvelteSet } from 'svelte/reactivity';

import type { ClipInfo } from '../../api/schemas';
import {
  EMPTY_PER_CARD,
  makePerCardCodec,
  TagGridState,
  withCardValue,
} from '../../cards/card-grid.svelte';
import { type LogRoot, openLogLines, quotePython } from '../../cards/export';
import {
  indexAtStep,
  type SortedSteps,
  StepSelection,
  StepsQuery,
} from '../../cards/steps/step-selection.svelte';
import * as m from '../../catalog/audio';
import * as common from '../../catalog/common';
import type { NumberRange } from '../../charts/types';
import { choice, type Codec, flag, list, number, optionalNumber, range } from '../../lib/codecs';
import type { Context, Shortcut } from '../../plugin/context';
import { AudioPlayer } from './audio-player.svelte';
import { AudioDecoder } from './browser-decoding';
import { type AudioFormat, clipPath, type SpectrogramMode } from './query';

export type CompareSide = 'a' | 'b';

class AudioCardGrid extends TagGridState {
  /** Returns whether there was a loop range. */
  clearLoopRange: () => boolean = () => false;

  /** Escape clears the loop range before it leaves the full screen. */
  override clearSelection(): void {
    if (!this.clearLoopRange()) super.clearSelection();
  }
}

/** The state that the components of the dashboard share. */
export class AudioState {
  readonly context: Context;
  readonly cardGrid: AudioCardGrid;
  readonly settings: ReturnType<typeof createAudioSettings>;
  readonly stepSelection: StepSelection;
  readonly stepLoader: StepsQuery;
  readonly player: AudioPlayer;
  readonly decoder: AudioDecoder;
  /** Paths of the clips that the user wants to be decoded in the browser. */
  readonly decodeRequested = new SvelteSet<string>();
  readonly #clipCounts = new SvelteMap<string, number>();
  /** The clip that was started: it is not replaced when a new step is logged. */
  #playingClip = $state.raw<{
    readonly tag: string;
    readonly run: string;
    readonly step: number;
  } | null>(null);

  constructor(context: Context) {
    this.context = context;
    this.cardGrid = new AudioCardGrid(context, {
      name: 'audio',
      title: common.audio,
      emptyTitle: m.emptyTitle,
      emptyHint: m.emptyHint,
      plugins: ['audio'],
      defaultWidth: 440,
    });
    this.settings = createAudioSettings(context);
    this.stepSelection = new StepSelection(context.url);
    this.stepLoader = new StepsQuery(this.cardGrid);
    this.player = new AudioPlayer(context, this.settings);
    this.decoder = new AudioDecoder(context.queries);
    this.cardGrid.clearLoopRange = () => this.#clearLoopRange();
  }

  /** Call it where effects can be created. */
  startEffects(): void {
    const { settings, player, stepLoader } = this;
    this.cardGrid.startEffects();
    for (const param of [settings.clip, settings.a, settings.b])
      $effect(() => {
        const tag = param.value?.tag;
        return tag === undefined ? undefined : stepLoader.subscribe(tag);
      });
    $effect(() => player.setSource(this.findClipPath(settings.clip.value)));
    $effect(() => {
      if (!player.playing) return;
      for (const side of [settings.a.value, settings.b.value]) {
        const path = this.findClipPath(side);
        if (path !== null) player.preload(path);
      }
    });
    $effect(() => player.setVolume(settings.volume.value));
    $effect(() => () => player.dispose());
  }

  /** Return the position of the value that a card shows for a run; -1 if there is none yet. */
  positionOf(steps: SortedSteps): number {
    const selected = this.stepSelection.stepOf(steps.tag);
    const playing = this.#playingClip;
    const isPlaying =
      this.player.playing && playing?.run === steps.run && playing.tag === steps.tag;
    return indexAtStep(steps, selected === null && isPlaying ? playing.step : selected);
  }

  /** Return the value that a clip belongs to; undefined until its steps are loaded. */
  findClip(clip: ClipRef | null): { steps: SortedSteps; position: number } | undefined {
    const steps = clip && this.stepLoader.get(clip.tag)?.find(({ run }) => run === clip.run);
    if (!steps) return undefined;
    const position = clip.step === null ? this.positionOf(steps) : indexAtStep(steps, clip.step);
    return position < 0 ? undefined : { steps, position };
  }

  findClipPath(clip: ClipRef | null): string | null {
    const found = this.findClip(clip);
    return found && clip ? clipPath({ ...found, part: clip.part }) : null;
  }

  isCurrent(clip: ClipRef): boolean {
    const { value } = this.settings.clip;
    if (!value || !isSameClipSlot(value, clip)) return false;
    return value.step === null || value.step === clip.step;
  }

  /** Play or pause a clip; `clip` has the step that is shown. */
  toggle(clip: ClipRef): void {
    if (this.isCurrent(clip) && this.player.playing) this.player.pause();
    else {
      this.#select(clip);
      this.#start(clip);
    }
  }

  /** Play or pause the clip that was played last. */
  toggleCurrent(): void {
    const clip = this.settings.clip.value;
    if (this.player.playing) this.player.pause();
    else if (clip) this.#start(clip);
  }

  seek(clip: ClipRef, seconds: number): void {
    this.#select(clip);
    this.player.seek(seconds);
  }

  setLoopRange(clip: ClipRef, range: NumberRange | null): void {
    const { settings } = this;
    this.#select(clip);
    settings.loopRange.set(range && roundRange(range, 4));
    if (!range) return;
    settings.loop.set(true);
    this.player.seek(range[0]);
  }

  /** Set a clip as one of the two that are compared, or clear it. */
  toggleCompared(side: CompareSide, clip: ClipRef): void {
    const param = this.settings[side];
    param.set(isSameClip(param.value, clip) ? null : clip);
  }

  /** Continue with side A or B at the same position. A side without a clip gets the current one. */
  switchTo(side: CompareSide): void {
    const { settings, player } = this;
    const compared = settings[side].value;
    const current = settings.clip.value;
    if (compared) settings.clip.set(compared, 'replace');
    else if (current) {
      const found = this.findClip(current);
      settings[side].set({ ...current, step: found?.steps.step[found.position] ?? null });
    }
    if (compared && !player.playing) player.play();
  }

  /** The visible time range of the clips of a card, in seconds; null: all. */
  zoomOf(cardId: string): NumberRange | null {
    return this.settings.zooms.value.get(cardId) ?? null;
  }

  setZoom(cardId: string, range: NumberRange | null): void {
    const { zooms } = this.settings;
    zooms.set(withCardValue(zooms.value, cardId, range && roundRange(range, 6)), 'replace');
  }

  /** The largest number of clips that a run has in a tag; undefined until it is known. */
  clipCount(tag: string): number | undefined {
    return this.#clipCounts.get(tag);
  }

  setClipCount(tag: string, clips: number): void {
    if ((this.#clipCounts.get(tag) ?? 0) < clips) this.#clipCounts.set(tag, clips);
  }

  #start(clip: ClipRef): void {
    this.#rememberStep(clip);
    this.player.play();
  }

  /** Make a clip the current one. It follows the step slider of its card. */
  #select(clip: ClipRef): void {
    if (this.isCurrent(clip)) return;
    this.settings.clip.set({ ...clip, step: null });
    this.settings.loopRange.set(null);
    if (!this.player.playing) this.player.seek(0);
    else this.#rememberStep(clip);
  }

  #rememberStep(clip: ClipRef): void {
    const found = this.findClip(clip);
    const step = found?.steps.step[found.position];
    this.#playingClip = step === undefined ? null : { tag: clip.tag, run: clip.run, step };
  }

  #clearLoopRange(): boolean {
    const { loopRange } = this.settings;
    const hadRange = loopRange.value !== null;
    if (hadRange) loopRange.set(null);
    return hadRange;
  }
}

/** Limits the digits in the URL. */
function roundRange([from, to]: NumberRange, digits: number): NumberRange {
  return [Number(from.toFixed(digits)), Number(to.toFixed(digits))];
}

export const [getAudioState, setAudioState] = createContext<AudioState>();

const SEEK_STEP_S = 0.5;
const SEEK_JUMP_S = 5;

/** Register the keyboard shortcuts of the dashboard; return a function that removes them. */
export function registerAudioShortcuts(audio: AudioState): () => void {
  const { settings, player, cardGrid } = audio;
  const { loop, spectrogram } = settings;
  const seek = (by: number) => (): void => {
    if (settings.clip.value) player.seek(player.position + by);
  };
  const shortcuts: Omit<Shortcut, 'group'>[] = [
    { keys: ' ', label: common.playOrPause, run: () => audio.toggleCurrent() },
    { keys: 'ArrowLeft', label: m.shortcutsBack, run: seek(-SEEK_STEP_S) },
    { keys: 'ArrowRight', label: m.shortcutsForward, run: seek(SEEK_STEP_S) },
    { keys: 'Shift+ArrowLeft', label: m.shortcutsBackLong, run: seek(-SEEK_JUMP_S) },
    { keys: 'Shift+ArrowRight', label: m.shortcutsForwardLong, run: seek(SEEK_JUMP_S) },
    { keys: 'a', label: m.shortcutsSideA, run: () => audio.switchTo('a') },
    { keys: 'b', label: m.shortcutsSideB, run: () => audio.switchTo('b') },
    { keys: 'l', label: m.loop, run: () => loop.set(!loop.value) },
    {
      keys: 't',
      label: m.shortcutsToggleSpectrogram,
      run: () => spectrogram.set(spectrogram.value === 'off' ? 'mel' : 'off'),
    },
  ];
  const stops = shortcuts.map((shortcut) =>
    cardGrid.context.shortcuts.register({ ...shortcut, group: cardGrid.info.title }),
  );
  return () => stops.forEach((stop) => stop());
}

/** A clip of a run. Without a step, it is the one at the step that its card shows. */
export interface ClipRef {
  readonly tag: string;
  readonly run: string;
  readonly part: number;
  readonly step: number | null;
}

/** Format: `tag,run,part,step`, without a step `tag,run,part`. */
export const clipRefCodec: Codec<ClipRef | null> = {
  parse(text) {
    const [tag, run, part, step] = list.parse(text);
    if (tag === undefined || run === undefined) return null;
    return { tag, run, part: parseInteger(part) ?? 0, step: parseInteger(step) };
  },
  format(clip) {
    if (!clip) return '';
    const { tag, run, part, step } = clip;
    return list.format([tag, run, String(part), ...(step === null ? [] : [String(step)])]);
  },
};

function parseInteger(text: string | undefined): number | null {
  return text !== undefined && /^-?\d+$/.test(text) ? Number(text) : null;
}

/** Return whether two clips differ at most in their step. */
export function isSameClipSlot(one: ClipRef | null, other: ClipRef | null): boolean {
  return one?.tag === other?.tag && one?.run === other?.run && one?.part === other?.part;
}

export function isSameClip(one: ClipRef | null, other: ClipRef | null): boolean {
  return isSameClipSlot(one, other) && one?.step === other?.step;
}

const SPECTROGRAM_MODES: readonly SpectrogramMode[] = ['off', 'mel', 'log', 'linear'];
const DEFAULT_RANGE_DB = 80;
const DEFAULT_VOLUME = 0.8;

const zoomsCodec = makePerCardCodec<NumberRange>(
  1,
  ([text = '']) => range.parse(text),
  (timeRange) => [range.format(timeRange)],
);

/** Settings of the dashboard: in the URL, except for dynamic range and volume. */
export function createAudioSettings({ url, preferences }: Pick<Context, 'url' | 'preferences'>) {
  return {
    /** The clip that is playing, or was played last. */
    clip: url.param('clip', clipRefCodec, null),
    /** Playback position in seconds, saved when playback stops. */
    position: url.param('clip-time', optionalNumber, null),
    loop: url.param('loop', flag, false),
    /** The time range that is repeated; null: the whole clip. */
    loopRange: url.param('clip-loop', range, null),
    a: url.param('clip-a', clipRefCodec, null),
    b: url.param('clip-b', clipRefCodec, null),
    spectrogram: url.param('spectrogram', choice(SPECTROGRAM_MODES, 'mel'), 'mel'),
    /** Samples per Fourier transform; null: automatic. */
    fftWindow: url.param('fft-window', optionalNumber, null),
    /** Scale waveforms to their loudest sample. */
    normalize: url.param('clip-normalize', flag, false),
    /** Visible time ranges by card. */
    zooms: url.param('clip-zoom', zoomsCodec, EMPTY_PER_CARD),
    rangeDb: preferences.param('audio-range-db', number(DEFAULT_RANGE_DB), DEFAULT_RANGE_DB),
    volume: preferences.param('audio-volume', number(DEFAULT_VOLUME), DEFAULT_VOLUME),
  };
}

/** The server's type for files that browsers cannot play. */
const UNKNOWN_CONTENT_TYPE = 'application/octet-stream';

/** Where the plots of a clip are computed. The server reads WAV files only. */
export type ClipSource = 'server' | 'browser' | 'none';

/** `hasServer` is false in a static export, whose clips are all decoded in the browser. */
export function chooseClipSource(clip: ClipInfo, hasServer: boolean): ClipSource {
  if (clip.problem === null) return hasServer ? 'server' : 'browser';
  const isWav = clip.content_type === 'audio/wav';
  return isWav || clip.content_type === UNKNOWN_CONTENT_TYPE ? 'none' : 'browser';
}

export function isPlayable(clip: ClipInfo): boolean {
  return clip.content_type !== UNKNOWN_CONTENT_TYPE && clip.frames !== 0;
}

export function findAudioFormat({ sample_rate, frames, channels }: ClipInfo): AudioFormat | null {
  if (!sample_rate || !frames || !channels) return null;
  return { sampleRate: sample_rate, frames, channels };
}

const FILE_EXTENSIONS: Readonly<Record<string, string>> = {
  'audio/wav': 'wav',
  'audio/mpeg': 'mp3',
  'audio/aac': 'aac',
  'audio/flac': 'flac',
  'audio/ogg': 'ogg',
  'audio/mp4': 'm4a',
  'video/mp4': 'mp4',
  'video/webm': 'webm',
};

export function getFileExtension({ content_type }: ClipInfo): string {
  return FILE_EXTENSIONS[content_type] ?? 'bin';
}

export function describeChannels(count: number): string {
  if (count === 1) return m.formatMono;
  return count === 2 ? m.formatStereo : m.formatChannels({ count });
}

/** For example "16-bit", "32-bit float", "μ-law" or "MP3". */
export function describeEncoding({ encoding, bits }: ClipInfo): string {
  if (encoding === 'pcm') return m.formatBits({ bits: String(bits) });
  if (encoding === 'float') return m.formatBitsFloat({ bits: String(bits) });
  if (encoding === 'mu-law') return m.formatMuLaw;
  return encoding === 'a-law' ? m.formatALaw : encoding;
}

/** Return Python code that reads the clips of a card, at all steps. */
export function makeAudioPythonCode(options: {
  readonly roots: readonly LogRoot[];
  readonly runs: readonly string[];
  readonly tag: string;
}): string {
  const { roots, runs, tag } = options;
  return [
    ...openLogLines(roots),
    `for run in [${runs.map(quotePython).join(', ')}]:`,
    `    clips = log.audio(run, ${quotePython(tag)})  # clips.step: all steps`,
    '    sounds = clips[-1].to_arrays()  # each [frames, channels] in [-1, 1]; WAV only',
    '',
  ].join('\n');
}

const CLIP_HEADER_HEIGHT_PX = 30;
const CLIP_FOOTER_HEIGHT_PX = 20;
const WAVEFORM_HEIGHT_PX = 76;
const EXTRA_CHANNEL_HEIGHT_PX = 34;
const SPECTROGRAM_HEIGHT_PX = 100;
const MAX_EXTRA_CHANNELS = 3;
/** A card with more clips scrolls. */
const MAX_VISIBLE_CLIPS = 2;
const CARD_HEADER_HEIGHT_PX = 36;
const CARD_PADDING_PX = 6;
const FULL_SCREEN_SCALE = 1.9;

export interface ClipLayout {
  readonly hasSpectrogram: boolean;
  readonly channels: number;
  readonly isFullScreen: boolean;
}

export function getChartHeight({ hasSpectrogram, channels, isFullScreen }: ClipLayout): number {
  const extra = Math.min(MAX_EXTRA_CHANNELS, Math.max(0, channels - 1)) * EXTRA_CHANNEL_HEIGHT_PX;
  const height = WAVEFORM_HEIGHT_PX + extra + (hasSpectrogram ? SPECTROGRAM_HEIGHT_PX : 0);
  return isFullScreen ? Math.round(height * FULL_SCREEN_SCALE) : height;
}

export function getClipHeight(layout: ClipLayout): number {
  return CLIP_HEADER_HEIGHT_PX + getChartHeight(layout) + CLIP_FOOTER_HEIGHT_PX;
}

export function getAudioCardHeight(hasSpectrogram: boolean, clips: number): number {
  const visible = Math.max(1, Math.min(MAX_VISIBLE_CLIPS, clips));
  const clip = getClipHeight({ hasSpectrogram, channels: 1, isFullScreen: false });
  return CARD_HEADER_HEIGHT_PX + visible * clip + CARD_PADDING_PX;
}

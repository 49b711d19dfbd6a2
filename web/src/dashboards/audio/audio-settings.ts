import { EMPTY_PER_CARD, perCardCodec } from '../../cards/card-grid.svelte';
import type { FrequencyScaleType } from '../../charts/audio/audio-layout';
import type { NumberRange } from '../../charts/types';
import { choice, type Codec, flag, list, number, optionalNumber, range } from '../../lib/codecs';
import type { Context } from '../../plugin/context';

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

/** Frequency scale of the spectrograms below the waveforms. */
export type SpectrogramMode = 'off' | FrequencyScaleType;

const SPECTROGRAM_MODES: readonly SpectrogramMode[] = ['off', 'mel', 'log', 'linear'];
const DEFAULT_RANGE_DB = 80;
const DEFAULT_VOLUME = 0.8;

const zoomsCodec = perCardCodec<NumberRange>(
  1,
  ([text = '']) => range.parse(text),
  (timeRange) => [range.format(timeRange)],
);

export type AudioSettings = ReturnType<typeof createAudioSettings>;

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

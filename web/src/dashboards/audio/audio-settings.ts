import { EMPTY_PER_CARD, perCardCodec } from '../../cards/grid-settings';
import type { FrequencyScaleType } from '../../charts/audio/audio-data';
import type { NumberRange } from '../../charts/types';
import { choice, type Codec, flag, list, number, optionalNumber, range } from '../../lib/codecs';
import type { Context } from '../../plugin/context';

/** One clip of a run: at a step, or with null at the one that its card shows. */
export interface ClipRef {
  readonly tag: string;
  readonly run: string;
  readonly part: number;
  readonly step: number | null;
}

/** Written flat: `voice,run-1,0,500`; without a step: `voice,run-1,0`. */
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

/** Whether two names stand in the same place, whatever their steps are. */
export function isSameClipSlot(one: ClipRef | null, other: ClipRef | null): boolean {
  return one?.tag === other?.tag && one?.run === other?.run && one?.part === other?.part;
}

export function isSameClip(one: ClipRef | null, other: ClipRef | null): boolean {
  return isSameClipSlot(one, other) && one?.step === other?.step;
}

/** Which tones are shown below the waveforms, if any. */
export type SpectrogramMode = 'off' | FrequencyScaleType;

const SPECTROGRAM_MODES: readonly SpectrogramMode[] = ['off', 'mel', 'log', 'linear'];
const DEFAULT_RANGE_DB = 80;
const DEFAULT_VOLUME = 0.8;

const zoomsCodec = perCardCodec<NumberRange>(
  1,
  ([text = '']) => range.parse(text),
  (span) => [range.format(span)],
);

export type AudioSettings = ReturnType<typeof createAudioSettings>;

/** What the view is set to: in the address, but for what is a matter of taste. */
export function createAudioSettings({ url, preferences }: Pick<Context, 'url' | 'preferences'>) {
  return {
    /** The clip that plays, or would. */
    clip: url.param('clip', clipRefCodec, null),
    /** Where it stopped, in seconds. */
    position: url.param('clip-at', optionalNumber, null),
    loop: url.param('loop', flag, false),
    /** The part that plays again and again; null: all of it. */
    loopRange: url.param('clip-range', range, null),
    a: url.param('clip-a', clipRefCodec, null),
    b: url.param('clip-b', clipRefCodec, null),
    spectrogram: url.param('tones', choice(SPECTROGRAM_MODES, 'mel'), 'mel'),
    /** How many samples are looked at together; null: what suits. */
    fftWindow: url.param('tones-window', optionalNumber, null),
    /** Whether the loudest sample fills the height. */
    normalize: url.param('clip-fit', flag, false),
    zooms: url.param('clip-zoom', zoomsCodec, EMPTY_PER_CARD),
    rangeDb: preferences.param('audio-range', number(DEFAULT_RANGE_DB), DEFAULT_RANGE_DB),
    volume: preferences.param('audio-level', number(DEFAULT_VOLUME), DEFAULT_VOLUME),
  };
}

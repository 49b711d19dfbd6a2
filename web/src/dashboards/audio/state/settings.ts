import { choice, flag, number, optionalNumber, range } from '../../../base/codec';
import type { FrequencyScale } from '../../../charts/sound/types';
import type { Span } from '../../../charts/types';
import type { Context } from '../../../plugin/context';
import { byCard, FOR_NONE } from '../../../wall/by-card';
import { clipName } from './clip';

/** Which tones are shown below the waveforms, if any. */
export type Tones = 'off' | FrequencyScale;

const TONES: readonly Tones[] = ['off', 'mel', 'log', 'linear'];
const USUAL_RANGE_DB = 80;
const USUAL_LEVEL = 0.8;

const zooms = byCard<Span>(
  1,
  ([text = '']) => range.parse(text),
  (span) => [range.format(span)],
);

export type AudioSettings = ReturnType<typeof openAudioSettings>;

/** What the view is set to: in the address, but for what is a matter of taste. */
export function openAudioSettings({ address, tastes }: Pick<Context, 'address' | 'tastes'>) {
  return {
    /** The clip that plays, or would. */
    clip: address.param('clip', clipName, null),
    /** Where it stopped, in seconds. */
    position: address.param('clip-at', optionalNumber, null),
    looping: address.param('loop', flag, false),
    /** The part that plays again and again; null: all of it. */
    range: address.param('clip-range', range, null),
    a: address.param('clip-a', clipName, null),
    b: address.param('clip-b', clipName, null),
    tones: address.param('tones', choice(TONES, 'mel'), 'mel'),
    /** How many samples are looked at together; null: what suits. */
    window: address.param('tones-window', optionalNumber, null),
    /** Whether the loudest sample fills the height. */
    fitted: address.param('clip-fit', flag, false),
    zooms: address.param('clip-zoom', zooms, FOR_NONE),
    rangeDb: tastes.param('audio-range', number(USUAL_RANGE_DB), USUAL_RANGE_DB),
    level: tastes.param('audio-level', number(USUAL_LEVEL), USUAL_LEVEL),
  };
}

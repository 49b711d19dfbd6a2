import type { AudioFormat } from './clip-plots.svelte';
import type { ClipInfo } from '../../api/schemas';

/** What no browser takes for sound. */
const UNKNOWN_CONTENT_TYPE = 'application/octet-stream';

/** Who can make pictures of a clip; the server knows WAV files only, and a copy has no server. */
export function chooseClipSource(row: ClipInfo, isStatic: boolean): 'server' | 'page' | 'none' {
  if (row.problem === null) return isStatic ? 'page' : 'server';
  const isWav = row.content_type === 'audio/wav';
  return isWav || row.content_type === UNKNOWN_CONTENT_TYPE ? 'none' : 'page';
}

export function isPlayable(row: ClipInfo): boolean {
  return row.content_type !== UNKNOWN_CONTENT_TYPE && row.frames !== 0;
}

export function findAudioFormat({ sample_rate, frames, channels }: ClipInfo): AudioFormat | null {
  if (!sample_rate || !frames || !channels) return null;
  return { sampleRate: sample_rate, frames, channels };
}

/** The end of a file's name. */
export function fileExtension({ content_type }: ClipInfo): string {
  const suffixes: Record<string, string> = {
    'audio/wav': 'wav',
    'audio/mpeg': 'mp3',
    'audio/aac': 'aac',
    'audio/flac': 'flac',
    'audio/ogg': 'ogg',
    'audio/mp4': 'm4a',
    'video/mp4': 'mp4',
    'video/webm': 'webm',
  };
  return suffixes[content_type] ?? 'bin';
}

const CHANNEL_NAMES = ['', 'mono', 'stereo'];

export function describeChannels(count: number): string {
  return CHANNEL_NAMES[count] || `${count} channels`;
}

/** 16-bit PCM, 32-bit float, mu-law, MP3. */
export function describeEncoding({ encoding, bits }: ClipInfo): string {
  if (encoding === 'pcm' || encoding === 'float')
    return `${bits}-bit${encoding === 'float' ? ' float' : ''}`;
  return { 'mu-law': 'μ-law', 'a-law': 'A-law' }[encoding] ?? encoding;
}

/** How high things on a card are, in pixels. */

const CLIP_HEADER_HEIGHT_PX = 30;
const CLIP_FOOTER_HEIGHT_PX = 20;
const WAVEFORM_HEIGHT_PX = 76;
/** What each channel beyond the first adds. */
const EXTRA_CHANNEL_HEIGHT_PX = 34;
const SPECTROGRAM_HEIGHT_PX = 100;
const MAX_EXTRA_CHANNELS = 3;
/** Cards have room for so many clips; of more one scrolls. */
const MAX_VISIBLE_CLIPS = 2;
const CARD_HEADER_HEIGHT_PX = 36;
const FULL_SCREEN_SCALE = 1.9;

/** Of the waves of one clip and, if there are any, its tones. */
export function chartHeight(hasTones: boolean, channels: number, full: boolean): number {
  const extra = Math.min(MAX_EXTRA_CHANNELS, Math.max(0, channels - 1)) * EXTRA_CHANNEL_HEIGHT_PX;
  const height = WAVEFORM_HEIGHT_PX + extra + (hasTones ? SPECTROGRAM_HEIGHT_PX : 0);
  return full ? Math.round(height * FULL_SCREEN_SCALE) : height;
}

export function clipHeight(hasTones: boolean, channels: number, full: boolean): number {
  return CLIP_HEADER_HEIGHT_PX + chartHeight(hasTones, channels, full) + CLIP_FOOTER_HEIGHT_PX;
}

export function audioCardHeight(hasTones: boolean, clips: number): number {
  const shown = Math.max(1, Math.min(MAX_VISIBLE_CLIPS, clips));
  return CARD_HEADER_HEIGHT_PX + shown * clipHeight(hasTones, 1, false) + 6;
}

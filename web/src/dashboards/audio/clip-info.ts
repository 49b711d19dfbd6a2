/** What is known about clips without decoding them: format, source of the plots, size of cards. */
import type { ClipInfo } from '../../api/schemas';
import { type LogRoot, openLogLines, quotePython } from '../../cards/export';
import * as m from '../../catalog/audio';
import type { AudioFormat } from './query';

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

export function fileExtension({ content_type }: ClipInfo): string {
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
export function audioPythonCode(options: {
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

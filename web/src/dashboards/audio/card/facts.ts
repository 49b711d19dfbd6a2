import type { ClipRow } from '../data/answers';
import type { Facts } from '../data/pictures.svelte';

/** What no browser takes for sound. */
const UNKNOWN = 'application/octet-stream';

/** Who can make pictures of a clip; the server knows WAV files only, and a copy has no server. */
export function whoDraws(row: ClipRow, isStatic: boolean): 'server' | 'page' | 'none' {
  if (row.problem === null) return isStatic ? 'page' : 'server';
  const isWav = row.content_type === 'audio/wav';
  return isWav || row.content_type === UNKNOWN ? 'none' : 'page';
}

export function isPlayable(row: ClipRow): boolean {
  return row.content_type !== UNKNOWN && row.frames !== 0;
}

export function factsOf({ sample_rate, frames, channels }: ClipRow): Facts | null {
  if (!sample_rate || !frames || !channels) return null;
  return { sampleRate: sample_rate, frames, channels };
}

/** The end of a file's name. */
export function suffixOf({ content_type }: ClipRow): string {
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

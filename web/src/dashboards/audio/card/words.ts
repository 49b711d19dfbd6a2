import type { ClipRow } from '../data/answers';

const FEW = ['', 'mono', 'stereo'];

export function describeChannels(count: number): string {
  return FEW[count] || `${count} channels`;
}

/** 16-bit PCM, 32-bit float, mu-law, MP3. */
export function describeEncoding({ encoding, bits }: ClipRow): string {
  if (encoding === 'pcm' || encoding === 'float')
    return `${bits}-bit${encoding === 'float' ? ' float' : ''}`;
  return { 'mu-law': 'μ-law', 'a-law': 'A-law' }[encoding] ?? encoding;
}

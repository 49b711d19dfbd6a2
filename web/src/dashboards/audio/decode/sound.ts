/** A clip decoded by the browser. */
export interface Sound {
  readonly sampleRate: number;
  readonly frames: number;
  readonly channels: readonly Float32Array[];
}

/** A larger file would take too much memory to decode. */
const MOST_BYTES = 32 << 20;
/** What browsers can be asked for; with the rate of the clip itself nothing is resampled. */
const RATES = { lowest: 3000, highest: 768_000, usual: 48_000 };

export async function decodeSound(file: ArrayBuffer, sampleRate: number | null): Promise<Sound> {
  if (file.byteLength > MOST_BYTES) throw new Error('too large to be decoded in a page');
  const wanted = sampleRate ?? RATES.usual;
  const rate = Math.max(RATES.lowest, Math.min(RATES.highest, wanted));
  const buffer = await new OfflineAudioContext(1, 1, rate).decodeAudioData(file);
  return {
    sampleRate: buffer.sampleRate,
    frames: buffer.length,
    channels: Array.from({ length: buffer.numberOfChannels }, (_, at) => buffer.getChannelData(at)),
  };
}

/** What a chart of sound draws. It has never heard of runs or of HTTP. */

/** Of one channel the samples in each column of pixels; a column without any is NaN. */
export interface Channel {
  readonly low: Float32Array;
  readonly high: Float32Array;
  /** The root of the mean square: how loud it is. */
  readonly rms: Float32Array;
}

/** Some frames of a clip. A channel that has as many columns as there are frames has all samples. */
export interface Waveform {
  readonly sampleRate: number;
  /** From the first to before the last, in frames. */
  readonly start: number;
  readonly stop: number;
  readonly channels: readonly Channel[];
}

export type FrequencyScale = 'linear' | 'log' | 'mel';

/** How loud each frequency is: levels from 0 to 255, row by row, the lowest frequency first. */
export interface Spectrogram {
  readonly sampleRate: number;
  readonly start: number;
  readonly stop: number;
  readonly width: number;
  readonly height: number;
  readonly scale: FrequencyScale;
  readonly lowHz: number;
  readonly highHz: number;
  /** What the levels 0 and 255 stand for. */
  readonly lowDb: number;
  readonly highDb: number;
  readonly levels: Uint8Array;
}

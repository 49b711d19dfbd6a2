/** What the server half of Images says, field for field. */

export interface ImageInfo {
  readonly part: number;
  /** As people call it: PNG, JPEG, GIF, WebP, AVIF, BMP, TIFF, SVG, MP4, WebM, unknown. */
  readonly format: string;
  /** What `picture` answers with; empty where it refuses. */
  readonly media_type: string;
  /** As shown; 0 where it is not known. */
  readonly width: number;
  readonly height: number;
  /** The kind of pixels: L, LA, RGB, RGBA, P, I;16, … */
  readonly mode: string;
  readonly channels: number;
  readonly bits: number;
  readonly bytes: number;
  /** 1: it stands still. */
  readonly frames: number;
  readonly duration_ms: number;
  readonly video: boolean;
  /** Too large to be loaded as a whole. */
  readonly tiled: boolean;
  readonly problem: string | null;
}

export interface ImageInfoResponse {
  readonly parts: readonly ImageInfo[];
}

export interface PixelsResponse {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  /** Names of the channels: grey, red, green, blue, alpha, … */
  readonly channels: readonly string[];
  readonly bits: number;
  /** Row by row, the channels of a pixel side by side, in the numbers of the file. */
  readonly values: ArrayLike<number>;
}

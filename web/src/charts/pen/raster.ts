/** A picture made of pixels: red, green, blue and alpha of each, row by row from the top. */
export interface Raster {
  readonly width: number;
  readonly height: number;
  readonly pixels: Uint8ClampedArray<ArrayBuffer>;
}

/** A raster is put on a canvas once, however often it is drawn. */
const canvases = new WeakMap<Raster, HTMLCanvasElement>();

export function canvasOf(raster: Raster): HTMLCanvasElement {
  const known = canvases.get(raster);
  if (known) return known;
  const canvas = document.createElement('canvas');
  canvas.width = raster.width;
  canvas.height = raster.height;
  const image = new ImageData(raster.pixels, raster.width, raster.height);
  canvas.getContext('2d')?.putImageData(image, 0, 0);
  canvases.set(raster, canvas);
  return canvas;
}

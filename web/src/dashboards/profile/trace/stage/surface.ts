/** Lets a canvas have as many pixels as the screen has where it is; returns how many to a pixel of the page. */
export function fitCanvas(canvas: HTMLCanvasElement, width: number, height: number): number {
  const ratio = devicePixelRatio || 1;
  const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== wide) canvas.width = wide;
  if (canvas.height !== high) canvas.height = high;
  return ratio;
}

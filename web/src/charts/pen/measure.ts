import { fontOf, type Pen } from './pen';

let context: CanvasRenderingContext2D | null = null;

/** How wide text is on this machine. */
export const widthOf: Pen['widthOf'] = (text, style) => {
  context ??= document.createElement('canvas').getContext('2d');
  if (!context) return text.length * style.size * 0.55;
  context.font = fontOf(style);
  return context.measureText(text).width;
};

import { drawPng, drawSvg } from '../export/paper';
import { widthOf } from '../pen/measure';
import type { Pen } from '../pen/pen';
import { LIGHT } from '../picture/palette';
import { drawSound, type SoundPicture } from './draw';
import { layOutSound, type SoundPlan } from './layout';

/** A clip as it is taken away: on white, below its name. */
export interface SoundSheet extends Omit<SoundPicture, 'layout'> {
  readonly title: string;
  readonly plan: SoundPlan;
}

const SIZE = { width: 880, height: 400 };
const TITLE_HEIGHT = 36;
const MARGIN = 16;

export function soundToSvg(sheet: SoundSheet): string {
  return drawSvg(SIZE, sheet.title, (pen) => drawSheet(pen, sheet));
}

export function soundToPng(sheet: SoundSheet): Promise<Blob> {
  return drawPng(SIZE, (pen) => drawSheet(pen, sheet));
}

function drawSheet(pen: Pen, sheet: SoundSheet): void {
  pen.box({ left: 0, top: 0, ...SIZE }, { colour: LIGHT.paper });
  const title = { size: 15, bold: true, colour: LIGHT.text, align: 'left' } as const;
  pen.text(sheet.title, MARGIN, 12, { ...title, baseline: 'top' });
  const size = { width: SIZE.width - MARGIN, height: SIZE.height - TITLE_HEIGHT - MARGIN / 2 };
  const layout = lower(layOutSound(sheet.plan, size, widthOf));
  drawSound(pen, { ...sheet, layout }, LIGHT);
}

type Layout = SoundPicture['layout'];

/** The same below the title. */
function lower(layout: Layout): Layout {
  const down = <B extends { readonly top: number }>(box: B): B => ({
    ...box,
    top: box.top + TITLE_HEIGHT,
  });
  return {
    ...layout,
    frame: down(layout.frame),
    waves: layout.waves.map(down),
    spectrum: layout.spectrum && down(layout.spectrum),
  };
}

/**
 * The icons of the page, from Lucide (ISC license). They are imported one by one: the index module of
 * the package has 1,700 icons, all of which a build would have to parse.
 */
import arrowDown from 'lucide/dist/esm/icons/arrow-down.mjs';
import arrowUp from 'lucide/dist/esm/icons/arrow-up.mjs';
import audioLines from 'lucide/dist/esm/icons/audio-lines.mjs';
import bell from 'lucide/dist/esm/icons/bell.mjs';
import chartBar from 'lucide/dist/esm/icons/chart-bar.mjs';
import chartLine from 'lucide/dist/esm/icons/chart-line.mjs';
import check from 'lucide/dist/esm/icons/check.mjs';
import chevronDown from 'lucide/dist/esm/icons/chevron-down.mjs';
import chevronLeft from 'lucide/dist/esm/icons/chevron-left.mjs';
import chevronRight from 'lucide/dist/esm/icons/chevron-right.mjs';
import chevronUp from 'lucide/dist/esm/icons/chevron-up.mjs';
import contrast from 'lucide/dist/esm/icons/contrast.mjs';
import copy from 'lucide/dist/esm/icons/copy.mjs';
import download from 'lucide/dist/esm/icons/download.mjs';
import ellipsis from 'lucide/dist/esm/icons/ellipsis.mjs';
import info from 'lucide/dist/esm/icons/info.mjs';
import maximize from 'lucide/dist/esm/icons/maximize-2.mjs';
import minimize from 'lucide/dist/esm/icons/minimize-2.mjs';
import moon from 'lucide/dist/esm/icons/moon.mjs';
import moveHorizontal from 'lucide/dist/esm/icons/move-horizontal.mjs';
import panelLeft from 'lucide/dist/esm/icons/panel-left.mjs';
import pause from 'lucide/dist/esm/icons/pause.mjs';
import pin from 'lucide/dist/esm/icons/pin.mjs';
import play from 'lucide/dist/esm/icons/play.mjs';
import plus from 'lucide/dist/esm/icons/plus.mjs';
import repeat from 'lucide/dist/esm/icons/repeat.mjs';
import scan from 'lucide/dist/esm/icons/scan.mjs';
import search from 'lucide/dist/esm/icons/search.mjs';
import share from 'lucide/dist/esm/icons/share-2.mjs';
import settings from 'lucide/dist/esm/icons/settings.mjs';
import sliders from 'lucide/dist/esm/icons/sliders-horizontal.mjs';
import star from 'lucide/dist/esm/icons/star.mjs';
import sun from 'lucide/dist/esm/icons/sun.mjs';
import table from 'lucide/dist/esm/icons/table-2.mjs';
import unfoldHorizontal from 'lucide/dist/esm/icons/unfold-horizontal.mjs';
import volumeOff from 'lucide/dist/esm/icons/volume-x.mjs';
import volume from 'lucide/dist/esm/icons/volume-2.mjs';
import close from 'lucide/dist/esm/icons/x.mjs';

/** The elements of an icon on a field of 24 by 24, drawn with a stroke. */
export type IconNode = typeof pin;

export const ICONS = {
  'arrow-down': arrowDown,
  'arrow-up': arrowUp,
  bars: chartBar,
  bell,
  check,
  'chevron-down': chevronDown,
  'chevron-left': chevronLeft,
  'chevron-right': chevronRight,
  'chevron-up': chevronUp,
  close,
  contrast,
  copy,
  download,
  fit: scan,
  info,
  lines: chartLine,
  maximize,
  minimize,
  moon,
  more: ellipsis,
  panel: panelLeft,
  pause,
  pin,
  play,
  plus,
  range: unfoldHorizontal,
  repeat,
  search,
  settings,
  share,
  sliders,
  spectrogram: audioLines,
  star,
  sun,
  table,
  volume,
  'volume-off': volumeOff,
  wide: moveHorizontal,
} as const satisfies Record<string, IconNode>;

export type IconName = keyof typeof ICONS;

const markup = new Map<IconName, string>();

/** Return the elements of an icon as SVG text, which a page inserts faster than one by one. */
export function getIconMarkup(name: IconName): string {
  let text = markup.get(name);
  if (text === undefined) {
    text = ICONS[name].map(formatElement).join('');
    markup.set(name, text);
  }
  return text;
}

function formatElement([tag, attributes]: IconNode[number]): string {
  const pairs = Object.entries(attributes).map(([key, value]) => ` ${key}="${String(value)}"`);
  return `<${tag}${pairs.join('')}/>`;
}

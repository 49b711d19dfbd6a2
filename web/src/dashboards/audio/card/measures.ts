/** How high things on a card are, in pixels. */

const HEAD = 30;
const FOOT = 20;
const WAVE = 76;
/** What each channel beyond the first adds. */
const CHANNEL = 34;
const TONES = 100;
const MOST_EXTRA = 3;
/** Cards have room for so many clips; of more one scrolls. */
const MOST_CLIPS = 2;
const CARD_HEAD = 36;
const FULL_FACTOR = 1.9;

/** Of the waves of one clip and, if there are any, its tones. */
export function chartHeight(hasTones: boolean, channels: number, full: boolean): number {
  const extra = Math.min(MOST_EXTRA, Math.max(0, channels - 1)) * CHANNEL;
  const height = WAVE + extra + (hasTones ? TONES : 0);
  return full ? Math.round(height * FULL_FACTOR) : height;
}

export function clipHeight(hasTones: boolean, channels: number, full: boolean): number {
  return HEAD + chartHeight(hasTones, channels, full) + FOOT;
}

export function cardHeight(hasTones: boolean, clips: number): number {
  const shown = Math.max(1, Math.min(MOST_CLIPS, clips));
  return CARD_HEAD + shown * clipHeight(hasTones, 1, false) + 6;
}

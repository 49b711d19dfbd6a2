import type { SpreadAxis } from '../../../api/histograms';
import type { Bands, Look } from '../settings';

type Choices<Word> = readonly [readonly [Word, string], ...(readonly [Word, string])[]];

export const LOOKS: Choices<Look> = [
  ['offset', 'Offset'],
  ['overlay', 'Overlay'],
  ['heat', 'Heat map'],
];

export const BANDS: Choices<Bands> = [
  ['bands', 'Side by side'],
  ['together', 'Together'],
];

export const AXES: Choices<SpreadAxis> = [
  ['step', 'Step'],
  ['relative', 'Relative'],
  ['wall', 'Wall'],
];

export function nameOf<Word>(choices: Choices<Word>, word: Word): string {
  return choices.find(([one]) => one === word)?.[1] ?? choices[0][1];
}

export function wordOf<Word>(choices: Choices<Word>, name: string): Word {
  return choices.find(([, one]) => one === name)?.[0] ?? choices[0][0];
}

import { type Codec, list } from '../../../base/codec';

/** One clip of a run: at a step, or with null at the one that its card shows. */
export interface ClipName {
  readonly tag: string;
  readonly run: string;
  readonly part: number;
  readonly step: number | null;
}

/** Written flat: `voice,run-1,0,500`; without a step: `voice,run-1,0`. */
export const clipName: Codec<ClipName | null> = {
  parse(text) {
    const [tag, run, part, step] = list.parse(text);
    if (tag === undefined || run === undefined) return null;
    return { tag, run, part: wholeOf(part) ?? 0, step: wholeOf(step) };
  },
  format(clip) {
    if (!clip) return '';
    const { tag, run, part, step } = clip;
    return list.format([tag, run, String(part), ...(step === null ? [] : [String(step)])]);
  },
};

function wholeOf(text: string | undefined): number | null {
  return text !== undefined && /^-?\d+$/.test(text) ? Number(text) : null;
}

/** Whether two names stand in the same place, whatever their steps are. */
export function isSamePlace(one: ClipName | null, other: ClipName | null): boolean {
  return one?.tag === other?.tag && one?.run === other?.run && one?.part === other?.part;
}

export function isSameClip(one: ClipName | null, other: ClipName | null): boolean {
  return isSamePlace(one, other) && one?.step === other?.step;
}

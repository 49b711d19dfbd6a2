import type { SourceLine } from '../../../api/schemas';

export type StackPart =
  | { readonly kind: 'frame'; readonly frame: SourceLine }
  | { readonly kind: 'folded'; readonly count: number };

/** Return a stack, innermost frame first, with frames of packages in a row folded into one part. */
export function foldFrames(frames: readonly SourceLine[], isUnfolded: boolean): StackPart[] {
  const parts: StackPart[] = [];
  for (const frame of [...frames].reverse()) {
    const last = parts.at(-1);
    if (isUnfolded || !frame.is_library) parts.push({ kind: 'frame', frame });
    else if (last?.kind === 'folded') parts[parts.length - 1] = { ...last, count: last.count + 1 };
    else parts.push({ kind: 'folded', count: 1 });
  }
  return parts;
}

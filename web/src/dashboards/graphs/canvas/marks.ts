import type { DrawnLink } from './drawing';

/** What stands out in the picture, and what steps back. */
export interface Marks {
  isChosen(id: string): boolean;
  isFound(id: string): boolean;
  isFaded(id: string): boolean;
  /** Something about it, or in it, is hardly right. */
  isDoubtful(id: string): boolean;
  isLit(link: DrawnLink): boolean;
  isLinkFaded(link: DrawnLink): boolean;
}

export const NO_MARKS: Marks = {
  isChosen: () => false,
  isFound: () => false,
  isFaded: () => false,
  isDoubtful: () => false,
  isLit: () => false,
  isLinkFaded: () => false,
};

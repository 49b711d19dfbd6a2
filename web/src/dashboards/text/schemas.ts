/** What the Text dashboard answers with, field for field as in `tracklight/dashboards/text`. */

/** One string: safe HTML, or else the text as it was logged. */
export interface TextCell {
  readonly html: string | null;
  readonly text: string | null;
  /** Why it is not laid out, or not all of it is here. */
  readonly note: string | null;
}

/** A text, or a part of an array of them as a table, row by row. */
export interface TextResponse {
  readonly shape: readonly number[];
  readonly characters: number;
  /** Where the table stands in the dimensions before the last two. */
  readonly fixed: readonly number[];
  readonly row: number;
  readonly column: number;
  readonly columns: number;
  readonly cells: readonly TextCell[];
}

/** A line in which something was found. */
export interface TextHit {
  readonly run: string;
  readonly tag: string;
  readonly index: number;
  readonly mark: number;
  readonly step: number;
  readonly wall_time: number;
  /** Which string of an array; empty for a plain text. */
  readonly position: readonly number[];
  readonly line: number;
  readonly before: string;
  readonly match: string;
  readonly after: string;
}

export interface TextSearchResponse {
  readonly hits: readonly TextHit[];
  readonly searched: number;
  readonly texts: number;
  readonly unreadable: number;
}

/** A line of either text or of both; in `parts` the words that differ have odd places. */
export interface TextDiffLine {
  readonly kind: 'same' | 'removed' | 'added' | 'gap';
  readonly before: number | null;
  readonly after: number | null;
  readonly parts: readonly string[];
  /** How many lines a gap stands for. */
  readonly lines: number;
}

export interface TextDiffResponse {
  readonly lines: readonly TextDiffLine[];
  readonly added: number;
  readonly removed: number;
  readonly note: string | null;
}

/** What the server says of a timeline; `tracklight/analysis/profiles/timeline` says what it means. */

export interface TrackRow {
  readonly id: number;
  readonly process: string;
  readonly name: string;
  readonly is_device: boolean;
  readonly is_main: boolean;
  readonly lanes: number;
  readonly events: number;
  readonly busy_ps: number;
}

export interface StepsColumns {
  readonly rule: string;
  readonly names: readonly string[];
  readonly start: Float64Array;
  readonly end: Float64Array;
}

export interface TimelineAnswer {
  readonly start_ps: number;
  readonly end_ps: number;
  readonly events: number;
  readonly tracks: readonly TrackRow[];
  readonly steps: StepsColumns;
  /** How many arrows there are. */
  readonly flows: number;
  readonly problems: readonly string[];
}

export interface TilesAnswer {
  readonly ends: Int32Array;
  readonly lane: Uint8Array;
  readonly start: Float64Array;
  readonly duration: Float64Array;
  readonly event: Int32Array;
  readonly count: Int32Array;
  readonly name: Int32Array;
  readonly hue: Uint8Array;
  readonly busy: Uint8Array;
  readonly words: { readonly ids: Int32Array; readonly texts: readonly string[] };
}

/** What a copy of a board carries of a trace: all tracks at one level of detail. */
export interface CopyAnswer {
  readonly timeline: TimelineAnswer;
  readonly level: number;
  readonly first: number;
  readonly last: number;
  readonly tiles: TilesAnswer;
}

export interface EventRow {
  readonly event: number;
  readonly name: string;
  readonly track: number;
  readonly lane: number;
  readonly start_ps: number;
  readonly duration_ps: number;
}

export interface NameRow {
  readonly id: number;
  readonly text: string;
  readonly count: number;
  readonly total_ps: number;
  readonly longest: number;
}

export interface EventAnswer {
  readonly row: EventRow;
  readonly category: string;
  readonly self_ps: number;
  readonly arguments: readonly { readonly key: string; readonly value: string | number }[];
  readonly stack: readonly EventRow[];
  readonly children: readonly NameRow[];
  readonly came_from: readonly EventRow[];
  readonly led_to: readonly EventRow[];
  readonly same: {
    readonly count: number;
    readonly total_ps: number;
    readonly mean_ps: number;
    readonly min_ps: number;
    readonly max_ps: number;
    readonly place: number;
    readonly rank: number;
    readonly previous: number | null;
    readonly next: number | null;
    readonly longest: number;
  };
}

export interface SearchAnswer {
  readonly count: number;
  readonly total_ps: number;
  readonly names: readonly NameRow[];
  readonly ids: Int32Array;
  /** A bit for each event, where arguments were looked through. */
  readonly told: Uint8Array;
  readonly offset: number;
  readonly event: Int32Array;
  readonly track: Int32Array;
  readonly lane: Int32Array;
  readonly start: Float64Array;
  readonly duration: Float64Array;
  readonly marks: Uint8Array;
}

export interface SelectedName extends NameRow {
  readonly self_ps: number;
  readonly min_ps: number;
  readonly max_ps: number;
}

export interface SelectionAnswer {
  readonly count: number;
  readonly unlike: number;
  readonly names: readonly SelectedName[];
  readonly tracks: readonly {
    readonly track: number;
    readonly count: number;
    readonly busy_ps: number;
  }[];
}

export interface ArrowsAnswer {
  readonly count: number;
  readonly source: Int32Array;
  readonly target: Int32Array;
  readonly source_track: Int32Array;
  readonly target_track: Int32Array;
  readonly source_lane: Int32Array;
  readonly target_lane: Int32Array;
  readonly source_ps: Float64Array;
  readonly target_ps: Float64Array;
}

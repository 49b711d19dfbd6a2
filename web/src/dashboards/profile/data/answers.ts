/** What the server says, field for field as in `tracklight/dashboards/profile`. */

import type { Problem } from '../../../api/types';

export interface HostRow {
  readonly name: string;
  readonly bytes: number;
}

/** One session of a run: the traces of all its hosts. */
export interface CaptureRow {
  readonly id: string;
  readonly run: string;
  readonly session: string;
  readonly title: string;
  readonly kind: 'xplane' | 'chrome' | 'pprof';
  readonly wall_s: number;
  /** The last step that the run had logged before it. */
  readonly step: number | null;
  readonly bytes: number;
  readonly mark: number;
  readonly hosts: readonly HostRow[];
}

export interface CapturesAnswer {
  readonly cursor: string;
  readonly captures: readonly CaptureRow[];
}

export interface OpeningAnswer {
  readonly state: 'idle' | 'opening' | 'ready' | 'failed';
  readonly share: number | null;
  readonly what: string;
  readonly problem: Problem | null;
}

export interface ToolRow {
  readonly name: string;
  readonly title: string;
  /** Why it has nothing to show; empty where it has something. */
  readonly why: string;
  readonly next: string;
}

export interface ToolsAnswer {
  readonly tools: readonly ToolRow[];
}

export interface EventRow {
  readonly event: number;
  readonly name: string;
  readonly track: string;
  readonly start_ps: number;
  readonly duration_ps: number;
}

export interface Finding {
  readonly name: string;
  readonly title: string;
  readonly what: string;
  readonly share: number;
  readonly threshold: string;
  readonly advice: string;
  /** Lines that do it; empty where there are none. */
  readonly code: string;
  readonly win_ms: number;
  /** The longest of them. */
  readonly evidence: readonly EventRow[];
  /** How many there are. */
  readonly events: number;
  readonly query: string;
  readonly start_ps: number;
  readonly end_ps: number;
}

export interface PartRow {
  readonly name: string;
  readonly label: string;
  readonly ms: number;
  readonly share: number;
  /** What of it went on behind something that counts for more. */
  readonly hidden_ms: number;
  readonly what: string;
}

export interface Overlap {
  readonly host_ms: number;
  readonly device_ms: number;
  readonly both_ms: number;
  readonly neither_ms: number;
}

export interface Precision {
  readonly short_ms: number;
  readonly long_ms: number;
  readonly unknown_ms: number;
  readonly short_share: number | null;
}

export interface Placement {
  readonly host_ms: number;
  readonly device_ms: number;
  readonly host_ops: number;
  readonly device_ops: number;
}

export interface OpRow {
  readonly name: string;
  readonly type: string;
  readonly side: 'host' | 'device';
  readonly count: number;
  readonly total_ms: number;
  readonly self_ms: number;
  readonly share: number;
  /** The longest. */
  readonly event: number;
}

export interface StepNumbers {
  readonly count: number;
  readonly averaged: number;
  readonly mean_ms: number;
  readonly median_ms: number;
  readonly min_ms: number;
  readonly max_ms: number;
  readonly deviation_ms: number;
}

export interface Fact {
  readonly name: string;
  readonly value: string;
}

/** From which percent on something is told. */
export interface ThresholdRow {
  readonly name: string;
  readonly title: string;
  readonly percent: number;
  readonly usual: number;
}

export interface OverviewAnswer {
  readonly events: number;
  readonly span_ms: number;
  readonly framework: string;
  /** How the steps were found. */
  readonly rule: string;
  /** What else could be taken for a mark of a step. */
  readonly markers: readonly { readonly name: string; readonly count: number }[];
  readonly steps: StepNumbers;
  readonly parts: readonly PartRow[];
  readonly overlap: Overlap | null;
  readonly placement: Placement;
  readonly precision: Precision;
  readonly ops: readonly OpRow[];
  readonly environment: readonly Fact[];
  readonly findings: readonly Finding[];
  readonly thresholds: readonly ThresholdRow[];
  readonly problems: readonly string[];
}

/** An average step of one host; none where its file cannot be read. */
export interface HostStep {
  readonly name: string;
  readonly step_ms: number | null;
  readonly parts_ms: Readonly<Record<string, number>>;
  readonly problem: Problem | null;
}

export interface HostsAnswer {
  readonly hosts: readonly HostStep[];
}

/** One row a step. */
export interface StepsAnswer {
  readonly names: readonly string[];
  readonly start_ms: Float64Array;
  readonly total_ms: Float64Array;
  readonly parts: readonly {
    readonly name: string;
    readonly label: string;
    readonly counted: Float64Array;
    readonly alone: Float64Array;
  }[];
  readonly other: Float64Array;
  /** Which of them averages are of: the first, and the one after the last. */
  readonly averaged: readonly [number, number];
}

export interface StageRow {
  readonly id: number;
  readonly name: string;
  readonly op: string;
  readonly parent: number | null;
  readonly calls: number;
  readonly total_ms: number;
  readonly self_ms: number;
  readonly critical_ms: number;
  readonly parallel: number | null;
  readonly is_slowest: boolean;
  readonly advice: string;
  readonly event: number;
}

export interface LoaderRow {
  readonly name: string;
  readonly calls: number;
  readonly total_ms: number;
  readonly mean_ms: number;
  readonly max_ms: number;
  readonly event: number;
}

export interface InputAnswer {
  readonly share: number;
  readonly ms: number;
  readonly hidden_ms: number;
  readonly verdict: string;
  readonly parts: readonly {
    readonly name: string;
    readonly what: string;
    readonly ms: number;
    readonly share: number;
  }[];
  readonly pipelines: readonly { readonly name: string; readonly stages: readonly StageRow[] }[];
  readonly loaders: readonly LoaderRow[];
  readonly findings: readonly Finding[];
  /** Why there is nothing. */
  readonly why: string;
}

export interface OpChange {
  readonly name: string;
  readonly type: string;
  readonly side: 'host' | 'device';
  readonly before_count: number;
  readonly after_count: number;
  readonly before_ms: number;
  readonly after_ms: number;
  readonly delta_ms: number;
}

export interface FindingChange {
  readonly name: string;
  readonly title: string;
  readonly state: 'gone' | 'new' | 'less' | 'more' | 'same';
  readonly before_ms: number;
  readonly after_ms: number;
}

export interface CompareAnswer {
  readonly verdict: string;
  readonly step: { readonly before_ms: number; readonly after_ms: number };
  readonly ops: readonly OpChange[];
  readonly findings: readonly FindingChange[];
  /** What is not the same. */
  readonly environment: readonly {
    readonly name: string;
    readonly before: string;
    readonly after: string;
  }[];
}

import { SvelteMap } from 'svelte/reactivity';

import { isAbort, queryScalars } from '../api/client';
import { readColumn } from '../api/numbers';
import type { WireChart, WireLine } from '../api/types';
import { Pace } from '../base/pace';

/** One run's line, reduced to columns, and the value it ends with. */
export interface Spark {
  readonly run: string;
  readonly low: readonly (number | null)[];
  readonly high: readonly (number | null)[];
  readonly last: readonly (number | null)[];
  readonly end: number | null;
}

export interface SparkChart {
  readonly sparks: readonly Spark[];
  /** How many runs have the tag, drawn or not. */
  readonly runs: number;
}

/** How many runs one sparkline can show and still be read. */
export const MOST_LINES = 8;

const COLUMNS = 120;
const MOST_CHARTS = 64;
const PAUSE_MS = 1000;

/** The sparklines of the rows that are on the screen; nothing else is asked for. */
class Sparks {
  readonly #charts = new SvelteMap<string, SparkChart>();
  readonly #wanted = new Map<string, number>();
  readonly #fresh = new Set<string>();
  #run: string | null = null;
  #abort = new AbortController();
  readonly #loading = new Pace(() => this.#load(), PAUSE_MS);

  show(run: string | null): void {
    this.#abort.abort();
    this.#run = run;
    this.#charts.clear();
    this.#fresh.clear();
    this.#loading.askNow();
  }

  refresh(): void {
    this.#fresh.clear();
    this.#loading.ask();
  }

  find(tag: string): SparkChart | undefined {
    return this.#charts.get(tag);
  }

  /** Keeps the chart of `tag` up to date until the function that it returns is called. */
  want(tag: string): () => void {
    this.#wanted.set(tag, (this.#wanted.get(tag) ?? 0) + 1);
    if (!this.#fresh.has(tag)) this.#loading.askNow();
    return () => {
      const left = (this.#wanted.get(tag) ?? 1) - 1;
      if (left > 0) this.#wanted.set(tag, left);
      else this.#wanted.delete(tag);
    };
  }

  async #load(): Promise<void> {
    const missing = [...this.#wanted.keys()].filter((tag) => !this.#fresh.has(tag));
    const asked = missing.slice(0, MOST_CHARTS);
    if (asked.length === 0) return;
    this.#abort = new AbortController();
    const runs = this.#run === null ? null : [this.#run];
    for (const tag of asked) this.#fresh.add(tag);
    try {
      const { charts } = await queryScalars(
        {
          charts: asked.map((tag) => ({ tag, runs })),
          width: COLUMNS,
          limit: MOST_LINES,
          columns: ['low', 'high', 'last'],
        },
        this.#abort.signal,
      );
      for (const chart of charts) this.#charts.set(chart.tag, readChart(chart));
    } catch (error) {
      // Rows are worth showing without their lines; the next change asks for these again.
      if (!isAbort(error)) for (const tag of asked) this.#fresh.delete(tag);
    }
    if (missing.length > asked.length) this.#loading.askNow();
  }
}

function readChart(chart: WireChart): SparkChart {
  return { sparks: chart.lines.map(readLine), runs: chart.runs };
}

function readLine(line: WireLine): Spark {
  const last = readColumn(line.columns.last);
  return {
    run: line.run,
    low: readColumn(line.columns.low),
    high: readColumn(line.columns.high),
    last,
    end: last.findLast((value) => value !== null) ?? null,
  };
}

export const sparks = new Sparks();

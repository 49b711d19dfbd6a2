import { untrack } from 'svelte';

import { Asking } from '../../../api/asking.svelte';
import type { OpeningAnswer, ToolRow, ToolsAnswer } from '../data/answers';
import type { Profile } from '../profile.svelte';
import { type Tool, TOOLS } from '../tools';
import { type CaptureAsk, queryOf } from './asks';
import { USUAL_RULES } from './params';

/** How often it is asked how far the server has read a large capture. */
const EVERY_MS = 300;

/** Which tools there are does not depend on how steps are found. */
const PLAIN = { marker: '', rules: USUAL_RULES, thresholds: '' };

/** The capture is read, and it is known which tools have something to show of it. */
export class Opening {
  readonly asking = new Asking<ToolsAnswer>();
  /** How far it is, while it takes longer than a moment. */
  progress = $state.raw<OpeningAnswer | null>(null);
  readonly #profile: Profile;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #looking = new AbortController();

  constructor(profile: Profile) {
    this.#profile = profile;
  }

  /** Those that have something to show. */
  readonly offered = $derived.by<readonly Tool[]>(() => {
    const rows = this.asking.answer?.tools ?? [];
    const isFull = (name: string): boolean => rows.some((row) => row.name === name && !row.why);
    return TOOLS.filter(({ name, pair }) => (pair ? this.#profile.other !== null : isFull(name)));
  });

  /** Those that have nothing, and why. */
  readonly empty = $derived.by<readonly ToolRow[]>(() => {
    const isOurs = ({ name, why }: ToolRow): boolean =>
      why !== '' && TOOLS.some((tool) => tool.name === name && !tool.pair);
    return this.asking.answer?.tools.filter(isOurs) ?? [];
  });

  /** The tool that the address names; the first of a capture that has no such tool. */
  readonly tool = $derived.by<Tool | undefined>(() => {
    const wanted = this.#profile.params.tool.value;
    return this.offered.find(({ name }) => name === wanted) ?? this.offered[0];
  });

  /** The same text for as long as the trace is the same, however its steps are found. */
  readonly #question = $derived.by(() => queryOf('tools', { ...this.#profile.ask, ...PLAIN }));

  follow(): void {
    $effect(() => {
      void this.#question;
      untrack(() => this.again());
    });
    $effect(() => () => this.#stop());
  }

  again(): void {
    this.#stop();
    const { capture, host } = this.#profile.ask;
    if (capture === '') return;
    const question = this.#question;
    this.asking.ask((signal) => this.#profile.api.get<ToolsAnswer>(question, signal));
    const ask = { capture, host, ...PLAIN, mark: null };
    this.#timer = setTimeout(() => void this.#look(ask, this.#looking.signal), EVERY_MS);
  }

  /** Asks how far it is until the tools are known. */
  async #look(ask: CaptureAsk, signal: AbortSignal): Promise<void> {
    if (!this.asking.loading) return;
    try {
      this.progress = await this.#profile.get<OpeningAnswer>('opening', {}, ask, signal);
    } catch {
      // Whatever is wrong, the question that is waited for will say it.
    }
    if (!signal.aborted) this.#timer = setTimeout(() => void this.#look(ask, signal), EVERY_MS);
  }

  #stop(): void {
    clearTimeout(this.#timer);
    this.#looking.abort();
    this.#looking = new AbortController();
    this.asking.stop();
    this.progress = null;
  }
}

import { createContext, untrack } from 'svelte';

import { Asking } from '../../api/asking.svelte';
import type { Codec } from '../../base/codec';
import type { Context, Param } from '../../plugin/context';
import type { MenuItem } from '../../widgets/menu';
import type { CaptureRow } from './data/answers';
import { type CaptureAsk, type Extra, queryOf } from './state/asks';
import { Captures } from './state/captures.svelte';
import { Opening } from './state/opening.svelte';
import { openParams, type Params, type Spot } from './state/params';

/** What a tool was told of the capture, and of the one that it is compared with. */
export interface Both<Answer> {
  readonly one: Answer;
  readonly other: Answer | null;
}

/** All that tools share: which captures are looked at, and how the server is asked about them. */
export class Profile {
  readonly context: Context;
  readonly params: Params;
  readonly captures: Captures;
  readonly opening: Opening;
  /** Pictures that can be taken away of the tool that is open. */
  pictures = $state.raw<readonly MenuItem[]>([]);

  constructor(context: Context) {
    this.context = context;
    this.params = openParams(context);
    this.captures = new Captures(context, this.params);
    this.opening = new Opening(this);
  }

  get api(): Context['api'] {
    return this.context.api;
  }

  /** The capture that is looked at; tools exist only while there is one. */
  get capture(): CaptureRow {
    const { current } = this.captures;
    if (!current) throw new Error('there is no capture to look at');
    return current;
  }

  get other(): CaptureRow | null {
    return this.captures.before ?? null;
  }

  readonly ask = $derived.by<CaptureAsk>(() => {
    const { current, host } = this.captures;
    return this.#askOf(current, host);
  });

  readonly otherAsk = $derived.by<CaptureAsk | null>(() => {
    const { before } = this.captures;
    return before ? this.#askOf(before, '') : null;
  });

  readonly spot = $derived.by(() => {
    const { event, span, find } = this.params;
    return { event, span, find };
  });

  /** Whether events can be looked at one by one. */
  readonly hasTrace = $derived.by(() => this.opening.offered.some(({ name }) => name === 'trace'));

  /** A value of a tool in the address. */
  param<Value>(name: string, codec: Codec<Value>, fallback: Value): Param<Value> {
    return this.context.address.param(`p-${name}`, codec, fallback);
  }

  /** Asks about one of the captures. */
  get<Answer>(
    path: string,
    more: Extra = {},
    ask: CaptureAsk = this.ask,
    signal?: AbortSignal,
  ): Promise<Answer> {
    return this.api.get<Answer>(queryOf(path, ask, more), signal);
  }

  /**
   * The answers about both captures, asked for again whenever a capture, its steps or `more`
   * changes; to be called where effects live.
   */
  both<Answer>(path: string, more: () => Extra = () => ({})): Asking<Both<Answer>> {
    return this.#follow(() => {
      const [extra, ask, other] = [more(), this.ask, this.otherAsk];
      return async (signal) => {
        const one = this.get<Answer>(path, extra, ask, signal);
        const two = other ? this.get<Answer>(path, extra, other, signal) : null;
        return { one: await one, other: await two };
      };
    });
  }

  /** One answer about both captures; none while nothing is compared. */
  joined<Answer>(path: string): Asking<Answer> {
    return this.#follow(() => {
      const [ask, other] = [this.ask, this.otherAsk];
      if (!other) return null;
      return (signal) => this.get<Answer>(path, { before: other.capture }, ask, signal);
    });
  }

  /** Opens a tool. */
  go(tool: string): void {
    this.params.tool.set(tool, 'push');
  }

  /** Opens the trace where something can be seen. */
  showEvents({ event = null, span = null, find = '' }: Partial<Spot>): void {
    this.params.event.set(event);
    this.params.span.set(span);
    this.params.find.set(find);
    for (const how of [this.params.findRegex, this.params.findArguments]) how.set(false);
    this.go('trace');
  }

  /** Keeps what is known of captures in step with the log; to be called where effects live. */
  follow(): void {
    $effect(() => {
      this.context.live.revisionOf(null);
      void untrack(() => this.captures.load());
    });
    this.opening.follow();
  }

  /** What is asked changes with whatever the making of the question looks at. */
  #follow<Answer>(
    question: () => ((signal: AbortSignal) => Promise<Answer>) | null,
  ): Asking<Answer> {
    const asking = new Asking<Answer>();
    $effect(() => {
      const asked = question();
      untrack(() => asking.ask(asked, true));
    });
    $effect(() => () => asking.stop());
    return asking;
  }

  #askOf(row: CaptureRow | undefined, host: string): CaptureAsk {
    const [marker, rules] = [this.params.marker.value, this.params.rules.value];
    const capture = row?.id ?? '';
    // A copy knows a capture by one name, and its answers are what they are.
    if (this.context.isStatic) return { capture, host, marker, rules, thresholds: '', mark: null };
    const thresholds = this.params.thresholds.value;
    return { capture, host, marker, rules, thresholds, mark: row?.mark ?? null };
  }
}

export const [getProfile, setProfile] = createContext<Profile>();

/**
 * Kinds of cards, and what a card on a board sees of the page: its own settings and, if it has them,
 * its own runs.
 */
import type { Component } from 'svelte';

import type { Codec } from '../../lib/codecs';
import type { Context, Param, RunGroup, Runs, UrlState, VisibleRun } from '../../plugin/context';

/** What the component of a kind is given. */
export interface CardKindProps extends Record<string, unknown> {
  /** The name of the kind, for components of several kinds. */
  readonly kind: string;
  /** The context of the card, with its own settings and runs. */
  readonly context: Context;
  /** What the card shows; empty for the settings of all cards of a kind. */
  readonly target: string;
  /** Replaces the title that the card has in its dashboard. */
  readonly title: string;
  /** Identifies the card on the page. */
  readonly cardKey: string;
  readonly isFullScreen: boolean;
  /** Show the controls of its settings instead of the card. */
  readonly isSettings: boolean;
}

/** Something that a card of a kind can show, for example a tag. */
export interface CardTarget {
  readonly target: string;
  readonly label: string;
}

/** A kind of cards; `card-kinds.ts` has all of them. */
export interface CardKind {
  readonly name: string;
  readonly label: string;
  /** The dashboard whose server routes it uses. */
  readonly apiName: string;
  readonly hasSettings: boolean;
  /** Return what can be shown; null if the user types it. */
  listTargets(context: Context): readonly CardTarget[] | null;
  load(): Promise<LoadedKind>;
}

/** The module of the component of a kind. */
export interface LoadedKind {
  readonly default: Component<CardKindProps>;
}

/** Where the settings of a card are stored. */
export interface SettingsStore {
  read(name: string): string | undefined;
  /** Undefined removes the setting. */
  write(name: string, text: string | undefined): void;
}

export interface CardContextOptions {
  /** The dashboard whose server routes the card uses. */
  readonly apiName: string;
  readonly settings: SettingsStore;
  /** The runs that the card always shows; null for those selected in the page. */
  readonly runs: () => readonly string[] | null;
}

/** Create the context of one card. Everything else is that of the page, such as the cursor. */
export function createCardContext(
  page: Context,
  { apiName, settings, runs }: CardContextOptions,
): Context {
  const properties: Partial<Context> = {
    api: page.getApi(apiName),
    url: new CardParams(settings),
    runs: new CardRuns(page.runs, runs),
  };
  // Other properties are read from the page's context, so that they stay reactive.
  const descriptors = Object.entries(properties).map(([name, value]) => [name, { value }]);
  return Object.create(page, Object.fromEntries(descriptors)) as Context;
}

/** Settings of a card, in the place of the parameters of the page's URL. */
class CardParams implements UrlState {
  readonly #store: SettingsStore;

  constructor(store: SettingsStore) {
    this.#store = store;
  }

  param<Value>(name: string, codec: Codec<Value>, fallback: Value): Param<Value> {
    return new CardParam(this.#store, name, codec, fallback);
  }
}

class CardParam<Value> implements Param<Value> {
  readonly #store: SettingsStore;
  readonly #name: string;
  readonly #codec: Codec<Value>;
  readonly #fallback: Value;
  // Two steps, so that changes of other settings do not notify readers of this one.
  readonly #text = $derived.by(() => this.#store.read(this.#name));
  readonly #value = $derived.by(() =>
    this.#text === undefined ? this.#fallback : this.#codec.parse(this.#text),
  );

  constructor(store: SettingsStore, name: string, codec: Codec<Value>, fallback: Value) {
    this.#store = store;
    this.#name = name;
    this.#codec = codec;
    this.#fallback = fallback;
  }

  get value(): Value {
    return this.#value;
  }

  set(value: Value): void {
    const text = this.#codec.format(value);
    const isFallback = text === this.#codec.format(this.#fallback);
    this.#store.write(this.#name, isFallback ? undefined : text);
  }
}

/** The runs of the page, or only some of them. */
class CardRuns implements Runs {
  readonly #page: Runs;
  readonly #names: () => readonly string[] | null;

  readonly visible: readonly VisibleRun[] = $derived.by(() => {
    const names = this.#names();
    return names ? names.flatMap((name) => this.#page.find(name) ?? []) : this.#page.visible;
  });
  readonly groups: readonly RunGroup[] = $derived.by(() => {
    const names = this.#names();
    if (!names) return this.#page.groups;
    return this.#page.groups.map(({ key, label, color }) => {
      const runs = this.visible.filter((run) => run.group === key).map(({ name }) => name);
      return { key, label, color, runs };
    });
  });

  constructor(page: Runs, names: () => readonly string[] | null) {
    this.#page = page;
    this.#names = names;
  }

  get baseline(): string | null {
    return this.#page.baseline;
  }

  get highlighted(): string | null {
    return this.#page.highlighted;
  }

  get all(): Runs['all'] {
    return this.#page.all;
  }

  get totals(): Runs['totals'] {
    return this.#page.totals;
  }

  get selection(): Runs['selection'] {
    return this.#names() ? null : this.#page.selection;
  }

  get matching(): Runs['matching'] {
    const names = this.#names();
    const { matching } = this.#page;
    return names && matching ? { selection: { newest: 0, on: names } } : matching;
  }

  find(name: string): VisibleRun | undefined {
    return this.#page.find(name);
  }

  matchesFilter(name: string): boolean {
    return this.#names()?.includes(name) ?? this.#page.matchesFilter(name);
  }

  highlight(name: string | null): void {
    this.#page.highlight(name);
  }

  /** Other cards may draw the runs in their own colors, so the list keeps those. */
  overrideColors(): () => void {
    return () => undefined;
  }

  solo(name: string): void {
    this.#page.solo(name);
  }

  selectOnly(names: readonly string[]): void {
    this.#page.selectOnly(names);
  }

  setBaseline(name: string | null): void {
    this.#page.setBaseline(name);
  }
}

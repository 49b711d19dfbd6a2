import { createContext, untrack } from 'svelte';

import type { Context } from '../../plugin/context';
import { Colours } from './colour/colours.svelte';
import { BODY } from './data/convert';
import { CopyApi } from './data/copy';
import { setOf } from './data/lookups';
import { canOpen, type GraphNode } from './data/model';
import { ASIDE, findHidden, REST, showGroups, type Wanted } from './data/picture';
import { type Desk, openDesk } from './layout/desk';
import { Catalog } from './state/catalog.svelte';
import { Details } from './state/details.svelte';
import { Groups } from './state/groups.svelte';
import { GraphMarks } from './state/marks.svelte';
import { openParams, type Params } from './state/params';
import { Search } from './state/search.svelte';
import { Stage } from './state/stage.svelte';
import { Ways } from './state/ways.svelte';

/** So long after the last move the address is told where the picture lies. */
const STILL_AFTER_MS = 400;

/** All that the parts of the view share. */
export class Graphs {
  readonly context: Context;
  readonly params: Params;
  readonly catalog: Catalog;
  readonly groups: Groups;
  readonly stage: Stage;
  readonly ways: Ways;
  readonly search: Search;
  readonly colours: Colours;
  readonly details: Details;
  readonly marks: GraphMarks;
  /** The node under the pointer, or under that of a list. */
  pointed = $state<string | null>(null);
  readonly #desk: Desk;
  /** The graph whose first picture was looked at. */
  #looked = '';
  /** A node to be brought onto the screen, with the groups around it. */
  #wanted: { readonly id: string; readonly around: readonly string[] } | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(context: Context) {
    const api = context.isStatic ? new CopyApi(context.api) : context.api;
    this.context = context;
    this.params = openParams(context);
    this.catalog = new Catalog(context, this.params);
    this.groups = new Groups(api);
    this.#desk = openDesk(context.isStatic);
    this.stage = new Stage(this.#desk);
    this.ways = new Ways(api, this.params, this.catalog);
    this.search = new Search(api, this.params, this.catalog);
    this.colours = new Colours(api, this.params, this.catalog, this.groups);
    this.details = new Details(api, this.params, this.catalog);
    this.marks = new GraphMarks(this);
  }

  readonly open = $derived.by<readonly string[]>(() => this.params.open.value ?? []);

  readonly #open = $derived.by(() => setOf(this.open));

  readonly #choices = $derived.by<Wanted>(() => {
    const { aside, back } = this.params;
    return { aside: setOf(aside.value), moved: setOf(back.value) };
  });

  readonly shown = $derived.by(() => showGroups(this.groups.known, this.#open, this.#choices));

  readonly chosen = $derived.by(() => {
    const id = this.params.node.value;
    return id === null ? undefined : this.stage.drawing.byId.get(id);
  });

  /** Keeps what is loaded and drawn in step with the address; to be called where effects live. */
  follow(): void {
    $effect(() => {
      this.context.live.revisionOf(null);
      void untrack(() => this.catalog.load());
    });
    $effect(() => {
      void this.catalog.key;
      const fold = this.params.fold.value;
      untrack(() => this.#begin(fold));
    });
    $effect(() => {
      const { open } = this;
      if (this.groups.known.size > 0) void untrack(() => this.groups.require(open));
    });
    $effect(() => {
      const [shown, flow] = [this.shown, this.params.flow.value];
      untrack(() => void this.#draw(shown, flow));
    });
    $effect(() => this.#keepView());
    this.ways.follow();
    this.search.follow();
    this.colours.follow();
    this.details.follow();
    $effect(() => () => this.#stop());
  }

  /** What a pointer chooses is seen already; what keys lead to may have to be brought there. */
  choose(id: string | null, reveals = false): void {
    this.params.node.set(id);
    if (id !== null && reveals) this.stage.reveal(id);
  }

  /** What a click on a node means: it is chosen, or what it stands for is shown. */
  pick(id: string, opens = false): void {
    const node = this.#node(id);
    if (node?.kind === 'rest') this.#unfold(id);
    else if (opens && node && canOpen(node)) this.toggle(id);
    else this.choose(id);
  }

  isPlain(id: string): boolean {
    const node = this.#node(id);
    return !node || !canOpen(node);
  }

  /** Opens a group or closes it, which stays where it is on the screen. */
  toggle(id: string): void {
    const node = this.#node(id);
    if (!node) return;
    const isOpen = node.bodies.some((body) => this.#open.has(body));
    const others = this.open.filter((group) => !node.bodies.some((body) => isWithin(group, body)));
    this.stage.holdStill(id);
    this.params.open.set(isOpen ? others : [...others, ...node.bodies, ...node.chain], 'push');
  }

  /** Closes everything. */
  closeAll(): void {
    this.params.open.set([], 'push');
    this.lookAnew();
  }

  /** The next picture is looked at as if it were the first. */
  lookAnew(): void {
    this.params.view.set(null);
    this.#looked = '';
  }

  /** Shows a node wherever it is: `around` are the groups that hold it, from the outermost on. */
  goTo(id: string, around: readonly string[]): void {
    const { open, node } = this.params;
    node.set(id, 'push');
    const missing = around.filter((group) => !this.#open.has(group));
    if (missing.length === 0 && this.stage.drawing.byId.has(id)) {
      this.stage.reveal(id);
      return;
    }
    this.#wanted = { id, around };
    if (missing.length > 0) open.set([...this.open, ...missing]);
    else void this.#uncover();
  }

  /** Put the wanted node into the picture where it is aside, or not loaded with its group. */
  async #uncover(): Promise<void> {
    const wanted = this.#wanted;
    const hidden = wanted && findHidden(this.groups.known, this.#choices, wanted.id, wanted.around);
    if (hidden?.kind === 'aside') this.moveAside(hidden.node, 'replace');
    else if (hidden && this.groups.hasMore(hidden.group)) await this.groups.more(hidden.group);
  }

  /** Shows a node without choosing it. */
  show(id: string, around: readonly string[]): void {
    const chosen = this.params.node.value;
    this.goTo(id, around);
    this.params.node.set(chosen, 'replace');
  }

  /** Step by step: first the ways, then what was found, then the node. */
  letGo(): void {
    const { trace, from, query, node } = this.params;
    if (from.value !== null) from.set(null);
    else if (trace.value !== 'off') trace.set('off');
    else if (query.value !== '') query.set('');
    else node.set(null);
  }

  /** Puts a node that stands aside among the others, or the other way round. */
  moveAside(id: string, history: 'push' | 'replace' = 'push'): void {
    const { back } = this.params;
    const others = back.value.filter((other) => other !== id);
    back.set(others.length === back.value.length ? [...others, id] : others, history);
  }

  #node(id: string): GraphNode | undefined {
    return this.stage.drawing.byId.get(id)?.node;
  }

  #unfold(id: string): void {
    if (id.endsWith(ASIDE)) {
      const { aside } = this.params;
      aside.set([...aside.value, id.slice(0, -ASIDE.length)], 'push');
    } else void this.groups.more(id.slice(0, -REST.length));
  }

  #begin(fold: boolean): void {
    const { reference } = this.catalog;
    this.stage.clear();
    this.#looked = '';
    if (reference) void this.#load(fold);
  }

  async #load(fold: boolean): Promise<void> {
    const { reference } = this.catalog;
    const { open } = this.params;
    if (!reference) return;
    await this.groups.begin(reference, fold, (first) => {
      if (open.value === null && first.length > 0) open.set(first, 'replace');
      return this.open;
    });
  }

  async #draw(shown: Graphs['shown'], flow: Params['flow']['value']): Promise<void> {
    if (!shown.has('') || !(await this.stage.show(shown, flow))) return;
    const wanted = this.#wanted?.id ?? (this.#looked === '' ? this.params.node.value : null);
    if (this.#looked !== this.catalog.key) this.#firstLook();
    if (wanted !== null && this.stage.drawing.byId.has(wanted)) {
      this.#wanted = null;
      this.stage.reveal(wanted);
    } else void this.#uncover();
  }

  #firstLook(): void {
    this.#looked = this.catalog.key;
    const kept = this.params.view.value;
    if (kept) this.stage.lookAt(kept);
    else this.stage.firstLook();
  }

  /** The address says where the picture lies once that was changed by hand and rests. */
  #keepView(): void {
    void this.stage.view;
    clearTimeout(this.#timer);
    if (untrack(() => this.#looked) === '') return;
    this.#timer = setTimeout(
      () => this.params.view.set(this.stage.centre, 'replace'),
      STILL_AFTER_MS,
    );
  }

  #stop(): void {
    clearTimeout(this.#timer);
    this.groups.stop();
    this.stage.stop();
  }
}

function isWithin(group: string, body: string): boolean {
  const inside = body.endsWith(BODY) ? [body] : [`${body}/`, `${body}${BODY}`];
  return group === body || inside.some((begin) => group.startsWith(begin));
}

export const [getGraphs, setGraphs] = createContext<Graphs>();

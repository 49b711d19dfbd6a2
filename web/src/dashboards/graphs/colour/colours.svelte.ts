import { untrack } from 'svelte';

import { Asking } from '../../../api/asking.svelte';
import { RUN_COLOURS } from '../../../base/colour';
import type { Palette } from '../../../charts/picture/palette';
import type { Api } from '../../../plugin/context';
import type { Change, PaintAnswer, ScaleRow, StatisticsAnswer } from '../data/answers';
import { NO_PAINTS, type Paints, placesIn, withPaint } from '../data/lookups';
import type { GraphLink, GraphNode } from '../data/model';
import type { Catalog } from '../state/catalog.svelte';
import { type Groups, PAGE } from '../state/groups.svelte';
import type { Params } from '../state/params';
import { queryOf } from '../state/reference';
import { type Look, plainLook, tintedLook } from './look';
import { FIXED, type Legend, legendOf, lookAt, NO_LEGEND } from './scale';

/** What nodes tell by themselves. */
const PLAIN = ['structure', 'none', 'change'];

/** By what nodes are coloured, and what their colours mean. */
export class Colours {
  readonly #api: Api;
  readonly #params: Params;
  readonly #catalog: Catalog;
  readonly #groups: Groups;
  readonly #statistics: Asking<StatisticsAnswer>;
  /** By the colour and the group. */
  #painted = $state.raw<Paints>(NO_PAINTS);

  constructor(api: Api, params: Params, catalog: Catalog, groups: Groups) {
    this.#api = api;
    this.#params = params;
    this.#catalog = catalog;
    this.#groups = groups;
    this.#statistics = new Asking<StatisticsAnswer>();
  }

  get statistics(): StatisticsAnswer | null {
    return this.#statistics.answer;
  }

  /** To be called where effects live. */
  follow(): void {
    $effect(() => {
      // Counting all nodes of a large graph takes a while, and the picture comes first.
      const reference = this.#isSeen ? this.#catalog.reference : null;
      const profile = this.#profile;
      untrack(() => {
        this.#painted = NO_PAINTS;
        this.#statistics.ask(
          reference &&
            ((signal) => this.#api.get(`statistics?${queryOf(reference, profile)}`, signal)),
        );
      });
    });
    $effect(() => {
      const { scale } = this;
      const groups = [...this.#groups.known.keys()];
      if (scale) untrack(() => this.#paint(scale.by, groups));
    });
    $effect(() => () => this.#statistics.stop());
  }

  /** What there is something to tell of: `by` and its name. */
  readonly offered = $derived.by<(readonly [string, string])[]>(() => {
    const scales = this.statistics?.scales ?? [];
    const nodes = [...this.#groups.known.values()].flatMap((group) => group.nodes);
    const isAlike = nodes.some(({ structure }) => structure !== null);
    const named = scales.map(({ by, title }) => [by, title] as const);
    const changes = named.filter(([by]) => by === 'change');
    const others = named.filter(([by]) => by !== 'change');
    const alike = isAlike ? ([['structure', 'Structure']] as const) : [];
    return [...changes, ...alike, ...others, ['none', 'Nothing']];
  });

  /** What was chosen, if that can be had. */
  readonly by = $derived.by(() => {
    const wanted = this.#params.colour.value;
    const found = this.offered.find(([by]) => by === wanted) ?? this.offered[0];
    return found?.[0] ?? 'none';
  });

  readonly scale = $derived.by<ScaleRow | undefined>(() =>
    this.statistics?.scales.find(({ by }) => by === this.by),
  );

  readonly #isSeen = $derived.by(() => this.#groups.known.size > 0);

  readonly #profile = $derived.by<Record<string, string>>(() => {
    const profiles = this.#catalog.current?.profiles ?? [];
    const chosen = profiles.find((tag) => tag === this.#params.profile.value) ?? profiles[0];
    return chosen === undefined ? {} : { profile: chosen };
  });

  readonly #places = $derived.by(() => placesIn(this.#groups.known));

  lookIn(palette: Palette): (node: GraphNode) => Look {
    const { by, scale } = this;
    const [painted, places] = [this.#painted, this.#places];
    return (node) => {
      if (by === 'structure') return structureLook(node, palette);
      if (by === 'change') return changeLook(node, palette);
      const spot = places.get(node.id);
      const paint = spot && painted.get(`${by} ${spot.group}`);
      const look = scale && paint ? lookAt(scale, paint, spot.place, palette) : null;
      return look ?? plainLook(node, palette);
    };
  }

  /** The colour of a link that says something by it. */
  readonly inkOf = ({ change }: GraphLink): string | null =>
    this.by === 'change' ? changeColour(change) : null;

  legendIn(palette: Palette): Legend {
    return this.scale ? legendOf(this.scale, palette) : NO_LEGEND;
  }

  #paint(by: string, groups: readonly string[]): void {
    if (PLAIN.includes(by)) return;
    for (const group of groups) if (!this.#painted.has(`${by} ${group}`)) void this.#ask(by, group);
  }

  async #ask(by: string, group: string): Promise<void> {
    const { reference, key } = this.#catalog;
    if (!reference) return;
    const fold = this.#params.fold.value ? '1' : '0';
    const more = { group, fold, most: String(PAGE), by, ...this.#profile };
    try {
      const paint = await this.#api.get<PaintAnswer>(`paint?${queryOf(reference, more)}`);
      if (key === this.#catalog.key)
        this.#painted = withPaint(this.#painted, `${by} ${group}`, paint);
    } catch {
      // The group is left uncoloured; what is wrong with the graph is said where it is asked for.
    }
  }
}

/** A group in which something is different is different itself. */
function changeLook(node: GraphNode, palette: Palette): Look {
  const colour = changeColour(node.change);
  return colour ? tintedLook(colour, palette) : plainLook(node, palette);
}

function changeColour(change: Change | null): string | null {
  return change === null || change === 'same' ? null : (FIXED[change] ?? null);
}

function structureLook(node: GraphNode, palette: Palette): Look {
  if (node.structure === null) return plainLook(node, palette);
  return tintedLook(RUN_COLOURS[node.structure % RUN_COLOURS.length] ?? '', palette);
}

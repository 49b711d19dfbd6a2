import { untrack } from 'svelte';

import { Query } from '../../../api/query.svelte';
import { RUN_COLORS } from '../../../lib/colors';
import type { ChartTheme } from '../../../charts/renderer/chart-theme';
import type { DashboardApi } from '../../../plugin/context';
import type { ChangeName, ColoringResponse, ScaleRow, StatisticsResponse } from '../schemas';
import {
  addColoring,
  type Colorings,
  type GraphEdge,
  type GraphNode,
  indexNodes,
  NO_COLORINGS,
} from '../graph-model';
import {
  formatGraphQuery,
  type GraphCatalog,
  GROUP_PAGE_SIZE,
  type GroupsQuery,
} from '../query.svelte';
import type { GraphParams } from '../graph-params';
import {
  appearanceAt,
  buildLegend,
  FIXED_COLORS,
  type GraphLegendModel,
  NO_LEGEND,
  type NodeAppearance,
  plainAppearance,
  tintedAppearance,
} from './node-appearance';

/** What nodes tell by themselves. */
const LOCAL_SCALES = ['structure', 'none', 'change'];

/** By what nodes are coloured, and what their colours mean. */
export class NodeColoring {
  readonly #api: DashboardApi;
  readonly #params: GraphParams;
  readonly #catalog: GraphCatalog;
  readonly #groups: GroupsQuery;
  readonly #statistics: Query<StatisticsResponse>;
  /** By the colour and the group. */
  #colorings = $state.raw<Colorings>(NO_COLORINGS);

  constructor(api: DashboardApi, params: GraphParams, catalog: GraphCatalog, groups: GroupsQuery) {
    this.#api = api;
    this.#params = params;
    this.#catalog = catalog;
    this.#groups = groups;
    this.#statistics = new Query<StatisticsResponse>();
  }

  get statistics(): StatisticsResponse | null {
    return this.#statistics.data;
  }

  /** To be called where effects live. */
  startEffects(): void {
    $effect(() => {
      // Counting all nodes of a large graph takes a while, and the picture comes first.
      const reference = this.#hasGroups ? this.#catalog.reference : null;
      const profile = this.#profile;
      untrack(() => {
        this.#colorings = NO_COLORINGS;
        this.#statistics.run(
          reference &&
            ((signal) =>
              this.#api.get(`statistics?${formatGraphQuery(reference, profile)}`, signal)),
        );
      });
    });
    $effect(() => {
      const { scale } = this;
      const groups = [...this.#groups.loaded.keys()];
      if (scale) untrack(() => this.#loadColorings(scale.by, groups));
    });
    $effect(() => () => this.#statistics.stop());
  }

  /** What there is something to tell of: `by` and its name. */
  readonly options = $derived.by<(readonly [string, string])[]>(() => {
    const scales = this.statistics?.scales ?? [];
    const nodes = [...this.#groups.loaded.values()].flatMap((group) => group.nodes);
    const isAlike = nodes.some(({ structure }) => structure !== null);
    const named = scales.map(({ by, title }) => [by, title] as const);
    const changes = named.filter(([by]) => by === 'change');
    const others = named.filter(([by]) => by !== 'change');
    const alike = isAlike ? ([['structure', 'Structure']] as const) : [];
    return [...changes, ...alike, ...others, ['none', 'Nothing']];
  });

  /** What was chosen, if that can be had. */
  readonly colorBy = $derived.by(() => {
    const wanted = this.#params.colorBy.value;
    const found = this.options.find(([by]) => by === wanted) ?? this.options[0];
    return found?.[0] ?? 'none';
  });

  readonly scale = $derived.by<ScaleRow | undefined>(() =>
    this.statistics?.scales.find(({ by }) => by === this.colorBy),
  );

  readonly #hasGroups = $derived.by(() => this.#groups.loaded.size > 0);

  readonly #profile = $derived.by<Record<string, string>>(() => {
    const profiles = this.#catalog.current?.profiles ?? [];
    const chosen = profiles.find((tag) => tag === this.#params.profile.value) ?? profiles[0];
    return chosen === undefined ? {} : { profile: chosen };
  });

  readonly #nodeIndex = $derived.by(() => indexNodes(this.#groups.loaded));

  appearanceFor(palette: ChartTheme): (node: GraphNode) => NodeAppearance {
    const { colorBy, scale } = this;
    const [painted, places] = [this.#colorings, this.#nodeIndex];
    return (node) => {
      if (colorBy === 'structure') return structureAppearance(node, palette);
      if (colorBy === 'change') return changeAppearance(node, palette);
      const spot = places.get(node.id);
      const paint = spot && painted.get(`${colorBy} ${spot.group}`);
      const look = scale && paint ? appearanceAt(scale, paint, spot.place, palette) : null;
      return look ?? plainAppearance(node, palette);
    };
  }

  /** The colour of a link that says something by it. */
  readonly edgeColor = ({ change }: GraphEdge): string | null =>
    this.colorBy === 'change' ? changeColor(change) : null;

  legendFor(palette: ChartTheme): GraphLegendModel {
    return this.scale ? buildLegend(this.scale, palette) : NO_LEGEND;
  }

  #loadColorings(by: string, groups: readonly string[]): void {
    if (LOCAL_SCALES.includes(by)) return;
    for (const group of groups)
      if (!this.#colorings.has(`${by} ${group}`)) void this.#fetchColoring(by, group);
  }

  async #fetchColoring(by: string, group: string): Promise<void> {
    const { reference, referenceKey } = this.#catalog;
    if (!reference) return;
    const fold = this.#params.foldSeries.value ? '1' : '0';
    const more = { group, fold, most: String(GROUP_PAGE_SIZE), by, ...this.#profile };
    try {
      const paint = await this.#api.get<ColoringResponse>(
        `paint?${formatGraphQuery(reference, more)}`,
      );
      if (referenceKey === this.#catalog.referenceKey)
        this.#colorings = addColoring(this.#colorings, `${by} ${group}`, paint);
    } catch {
      // The group is left uncoloured; what is wrong with the graph is said where it is asked for.
    }
  }
}

/** A group in which something is different is different itself. */
function changeAppearance(node: GraphNode, palette: ChartTheme): NodeAppearance {
  const colour = changeColor(node.change);
  return colour ? tintedAppearance(colour, palette) : plainAppearance(node, palette);
}

function changeColor(change: ChangeName | null): string | null {
  return change === null || change === 'same' ? null : (FIXED_COLORS[change] ?? null);
}

function structureAppearance(node: GraphNode, palette: ChartTheme): NodeAppearance {
  if (node.structure === null) return plainAppearance(node, palette);
  return tintedAppearance(RUN_COLORS[node.structure % RUN_COLORS.length] ?? '', palette);
}

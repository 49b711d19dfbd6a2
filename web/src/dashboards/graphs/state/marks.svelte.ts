import type { DrawnLink } from '../canvas/drawing';
import type { Marks } from '../canvas/marks';
import { setOf } from '../data/lookups';
import { holds } from '../data/ranks';
import type { Graphs } from '../graphs.svelte';

/** What stands out in the picture, by what was chosen, found, traced or pointed at. */
export class GraphMarks implements Marks {
  readonly #graphs: Graphs;

  constructor(graphs: Graphs) {
    this.#graphs = graphs;
  }

  /** The nodes that are on the ways that were looked for; null where none was. */
  readonly #onWay = $derived.by<ReadonlySet<string> | null>(() => {
    const { lit } = this.#graphs.ways;
    if (lit === null) return null;
    const { nodes } = this.#graphs.stage.drawing;
    const on = nodes.filter(({ node }) => lit.some((ranks) => holds(ranks, node)));
    const { node, from } = this.#graphs.params;
    return setOf([...on.map(({ id }) => id), node.value ?? '', from.value ?? '']);
  });

  readonly #found = $derived.by(() => this.#whereSeen(this.#graphs.search.hits));

  readonly #doubtful = $derived.by(() =>
    this.#whereSeen(this.#graphs.colours.statistics?.misfits ?? []),
  );

  readonly count = $derived(this.#onWay?.size ?? 0);

  isChosen(id: string): boolean {
    return id === this.#graphs.params.node.value;
  }

  isFound(id: string): boolean {
    return this.#found.has(id) || id === this.#graphs.params.from.value;
  }

  isFaded(id: string): boolean {
    return this.#onWay !== null && !this.#onWay.has(id);
  }

  isDoubtful(id: string): boolean {
    return this.#doubtful.has(id);
  }

  isLit({ source, target }: DrawnLink): boolean {
    const on = this.#onWay;
    if (on) return on.has(source) && on.has(target);
    const { pointed, params } = this.#graphs;
    const ends = [source, target];
    return (
      (pointed !== null && ends.includes(pointed)) ||
      (params.node.value !== null && ends.includes(params.node.value))
    );
  }

  isLinkFaded(link: DrawnLink): boolean {
    return this.#onWay !== null && !this.isLit(link);
  }

  /** Of something in a closed group, the group shows where to look. */
  #whereSeen(
    rows: readonly { readonly path: string; readonly inside: readonly string[] }[],
  ): ReadonlySet<string> {
    const { byId } = this.#graphs.stage.drawing;
    const shown = rows.map(({ path, inside }) =>
      [path, ...[...inside].reverse()].find((id) => byId.has(id)),
    );
    return setOf(shown.filter((id) => id !== undefined));
  }
}

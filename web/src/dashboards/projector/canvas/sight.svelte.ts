import type { Point } from '../../../charts/pen/pen';
import { isInside, Screen } from '../cloud/screen';
import type { Projector } from '../projector.svelte';
import { placesAt } from '../state/motion.svelte';
import { firstOf } from './first';
import type { Caption } from './overlay';

const REACH = 9;
/** Names that are seen without being asked for, by how points are drawn. */
const NAMES = { auto: 36, points: 0, pictures: 0, labels: 500 } as const;
/** Of so many points names are taken; more would not be seen anyway. */
const MOST_NAMED_FROM = 30_000;
const MOST_STRONG = 120;

/** Where points are on the screen, for who points at them and for the names beside them. */
export class Sight {
  readonly #projector: Projector;
  #screen: { readonly key: readonly unknown[]; readonly screen: Screen } | null = null;
  /** Points whose names are seen, chosen anew when all stands still. */
  named = $state.raw<readonly number[]>([]);

  constructor(projector: Projector) {
    this.#projector = projector;
  }

  /** Where all points are while nothing moves. */
  readonly places = $derived.by<Float32Array | null>(() => {
    const { places, way } = this.#projector.motion;
    return places && placesAt(places, way);
  });

  /** Where one of them is now; null where it is not seen. */
  at(row: number): Point | null {
    const { camera, look } = this.#projector;
    const place = this.places?.subarray(3 * row, 3 * row + 3);
    if (place?.length !== 3 || !look.seen[row]) return null;
    return new Screen(place, null, camera.eye).at(0);
  }

  nearest(at: Point): number | null {
    return this.#find()?.nearest(at, Math.max(REACH, this.#projector.pointSize / 2)) ?? null;
  }

  inside(line: readonly Point[]): readonly number[] {
    const [xs, ys] = [line.map(({ x }) => x), line.map(({ y }) => y)];
    const from = { x: Math.min(...xs), y: Math.min(...ys) };
    const to = { x: Math.max(...xs), y: Math.max(...ys) };
    return this.#find()?.within(from, to, (x, y) => isInside(line, x, y)) ?? [];
  }

  /** Chooses whose names are seen. */
  name(): void {
    const { params, camera, look } = this.#projector;
    const most = NAMES[params.draw.value];
    const places = this.places;
    if (most === 0 || !places || !look.labels) {
      this.named = [];
      return;
    }
    const stride = Math.max(1, Math.ceil(places.length / 3 / MOST_NAMED_FROM));
    const [some, seen] = stride === 1 ? [places, look.seen] : sampleOf(places, look.seen, stride);
    const rows = new Screen(some, seen, camera.eye).sample(most);
    this.named = rows.map((row) => row * stride);
  }

  /** Names beside points, those that matter first. */
  captions(): Caption[] {
    const { look, params, near, choice, pointed } = this.#projector;
    const first = [pointed, params.point.value].filter((row) => row !== null);
    const lists = [near.near.answer?.rows, choice.rows, near.found.answer?.rows];
    const strong = firstOf([first, ...lists], MOST_STRONG);
    const weak = look.standing ? [] : this.named.filter((row) => !strong.has(row));
    return [...strong, ...weak].flatMap((row) => {
      const at = this.at(row);
      return at ? [{ at, text: look.nameOf(row), isStrong: strong.has(row) }] : [];
    });
  }

  /** Made when somebody points, and kept until the picture is another one. */
  #find(): Screen | null {
    const { camera, look } = this.#projector;
    const places = this.places;
    if (!places) return null;
    const key = [places, look.seen, camera.eye];
    if (this.#screen?.key.every((part, at) => part === key[at])) return this.#screen.screen;
    this.#screen = { key, screen: new Screen(places, look.seen, camera.eye) };
    return this.#screen.screen;
  }
}

function sampleOf(
  places: Float32Array,
  seen: Uint8Array,
  stride: number,
): [Float32Array, Uint8Array] {
  const count = Math.floor(places.length / 3 / stride);
  const [some, visible] = [new Float32Array(3 * count), new Uint8Array(count)];
  for (let at = 0; at < count; at++) {
    some.set(places.subarray(3 * at * stride, 3 * at * stride + 3), 3 * at);
    visible[at] = seen[at * stride] ?? 0;
  }
  return [some, visible];
}

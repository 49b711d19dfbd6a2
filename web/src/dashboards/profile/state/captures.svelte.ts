import { Listing } from '../../../api/listing.svelte';
import type { Context } from '../../../plugin/context';
import type { CaptureRow, CapturesAnswer } from '../data/answers';
import type { Params } from './params';

/** All captures of the log, and which of them are looked at. */
export class Captures extends Listing<CaptureRow> {
  readonly #context: Context;
  readonly #params: Params;

  constructor(context: Context, params: Params) {
    super(async (signal) => (await context.api.get<CapturesAnswer>('captures', signal)).captures);
    this.#context = context;
    this.#params = params;
  }

  /** The one that the address names, else the newest of the runs that are shown. */
  readonly current = $derived.by<CaptureRow | undefined>(() => {
    const named = this.find(this.#params.capture.value);
    if (named) return named;
    const { shown } = this.#context.runs;
    const seen = this.rows.filter(({ run }) => shown.some(({ name }) => name === run));
    return newestOf(seen) ?? newestOf(this.rows);
  });

  /** The newest that is older than the one that is looked at, of the same run or one beside it. */
  readonly earlier = $derived.by<CaptureRow | undefined>(() => {
    const { current } = this;
    if (!current) return undefined;
    const older = this.rows.filter(({ wall_s }) => wall_s < current.wall_s);
    const folder = folderOf(current.run);
    return (
      newestOf(older.filter(({ run }) => run === current.run)) ??
      newestOf(older.filter(({ run }) => folder !== '' && folderOf(run) === folder))
    );
  });

  /** The one that it is compared with. */
  readonly before = $derived.by<CaptureRow | undefined>(() => {
    const found = this.find(this.#params.before.value);
    return found === this.current ? undefined : found;
  });

  readonly host = $derived.by(() => {
    const wanted = this.#params.host.value;
    return this.current?.hosts.some(({ name }) => name === wanted) ? wanted : '';
  });

  choose(id: string): void {
    const { capture, before, host, marker, event, span } = this.#params;
    capture.set(id, 'push');
    if (before.value === id) before.set('');
    for (const param of [host, marker]) param.set('');
    event.set(null);
    span.set(null);
  }

  compareWith(id: string): void {
    this.#params.before.set(id, 'push');
  }

  /** The two change places: what was now is before. */
  swap(): void {
    const { current, before } = this;
    if (!current || !before) return;
    this.choose(before.id);
    this.compareWith(current.id);
  }
}

function folderOf(run: string): string {
  return run.slice(0, Math.max(0, run.lastIndexOf('/')));
}

function newestOf(rows: readonly CaptureRow[]): CaptureRow | undefined {
  return rows.reduce<CaptureRow | undefined>(
    (newest, row) => (newest && newest.wall_s >= row.wall_s ? newest : row),
    undefined,
  );
}

import { ServerError } from '../errors';
import { decodeColumns } from '../decode';
import type { ExportHead } from '../schemas';

/** What `pack` in `tracklight/server/static_export` has packed: columns, deflated, in base64. */
export async function unpackResponse(text: string): Promise<unknown> {
  if (typeof DecompressionStream === 'undefined') throw makeUnsupportedError();
  const letters = atob(text);
  const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
  return decodeColumns(await new Response(stream).arrayBuffer());
}

function makeUnsupportedError(): ServerError {
  const problem = {
    message: 'This browser cannot read static exports.',
    hint: 'Use a browser from 2023 or later.',
  };
  return new ServerError(problem, 501);
}

/** The one global of a copy: its scripts put their data here. */
export interface ExportData {
  readonly head: ExportHead;
  /** Answers by address, deflated and in base64. */
  readonly packed: Record<string, string>;
  /** For those that are not here yet, the script that puts them here. */
  readonly files: Readonly<Record<string, string>>;
}

/** The answers that a copy carries, each unpacked when it is first asked for. */
export class ExportContents {
  readonly #carried: ExportData;
  readonly #load: (file: string) => Promise<void>;
  readonly #known = new Map<string, Promise<unknown>>();

  constructor(carried: ExportData, load: (file: string) => Promise<void> = loadScript) {
    this.#carried = carried;
    this.#load = load;
  }

  get head(): ExportHead {
    return this.#carried.head;
  }

  has(address: string): boolean {
    return address in this.#carried.packed || address in this.#carried.files;
  }

  /** Return whether there is a response at the path, with any query, or below it. */
  hasBelow(path: string): boolean {
    const { head, packed, files } = this.#carried;
    return [head.responses, packed, files].some((known) =>
      Object.keys(known).some(
        (key) =>
          key === path || (/[/?]/.test(key.slice(path.length)[0] ?? '') && key.startsWith(path)),
      ),
    );
  }

  read(address: string): Promise<unknown> {
    const known = this.#known.get(address);
    if (known) return known;
    const answer = this.#fetch(address);
    this.#known.set(address, answer);
    // A script that was missing may be there the next time.
    answer.catch(() => this.#known.delete(address));
    return answer;
  }

  async #fetch(address: string): Promise<unknown> {
    const { packed, files } = this.#carried;
    const file = files[address];
    if (!(address in packed) && file !== undefined) await this.#load(file);
    const text = packed[address];
    if (text === undefined) throw makeMissingError(file ?? address);
    const answer = await unpackResponse(text);
    // The typed arrays are all that is needed from here on.
    packed[address] = '';
    return answer;
  }
}

/** A page that was opened as a file may not fetch, but it may run a script that lies beside it. */
function loadScript(file: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const script = document.createElement('script');
    script.src = file;
    script.onload = () => resolve();
    script.onerror = () => reject(makeMissingError(file));
    document.head.append(script);
  });
}

function makeMissingError(what: string): ServerError {
  const problem = {
    message: `This static export has no ${what}.`,
    hint: 'Keep all files of the export together, or export again.',
  };
  return new ServerError(problem, 404);
}

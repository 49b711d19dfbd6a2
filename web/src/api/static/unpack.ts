import { ApiError } from '../client';
import { decodeColumns } from '../columns';

/** What `pack` in `tracklight/server/static_export` has packed: columns, deflated, in base64. */
export async function unpack(text: string): Promise<unknown> {
  if (typeof DecompressionStream === 'undefined') throw tooOld();
  const letters = atob(text);
  const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
  return decodeColumns(await new Response(stream).arrayBuffer());
}

function tooOld(): ApiError {
  const problem = {
    message: 'This browser cannot unpack the copy.',
    hint: 'Open it in a browser of 2023 or later.',
  };
  return new ApiError(problem, 501);
}

/** Data sets of a static export: columns, metrics and statistics, without models and changes. */
import type { RowResponse, SpriteTiles, StaticSession } from '../../api/schemas';
import { NotExportedError } from '../../api/errors';
import type { ExportContents, StaticHandlers } from '../../api/static/static-transport';
import { encodeQuery } from '../../api/transport';

const API_PATH = 'api/v1/what_if/';

export const whatIfHandlers: StaticHandlers = {
  'POST what_if/columns': async ({ session, names }, contents) => {
    const { columns } = await readSession(contents, session);
    if (!columns) throw new NotExportedError();
    const found = names.map((name) => columns.columns.find((one) => one.name === name));
    if (found.includes(undefined)) throw new NotExportedError();
    return { ...columns, columns: found.filter((one) => one !== undefined) };
  },
  'POST what_if/performance': async ({ session, model, slice_by: sliceBy = [] }, contents) => {
    const { performance, about } = await readSession(contents, session);
    const name = model ?? about.models[0]?.name ?? '';
    const response = performance[[name, ...sliceBy].join('/')];
    if (!response) throw new NotExportedError();
    return response;
  },
  'POST what_if/statistics': async ({ session }, contents) =>
    (await readSession(contents, session)).statistics,
  'GET what_if/image': async ({ session, feature, row = 0 }, contents) =>
    cutThumbnail(contents, session, feature, row),
  'GET what_if/row': async ({ session, row = 0 }, contents) =>
    makeRow(await readSession(contents, session), row),
};

async function readSession(contents: ExportContents, session: string): Promise<StaticSession> {
  const path = `${API_PATH}static?${encodeQuery({ session })}`;
  if (!contents.has(path)) throw new NotExportedError();
  return (await contents.read(path)) as StaticSession;
}

/** Return the small image of a row, of which the export has no larger one. */
async function cutThumbnail(
  contents: ExportContents,
  session: string,
  feature: string,
  row: number,
): Promise<Blob> {
  const { about, columns } = await readSession(contents, session);
  const query = encodeQuery({ session, feature });
  const at = columns?.rows.indexOf(row) ?? -1;
  if (at < 0 || !contents.has(`${API_PATH}thumbnails?${query}`)) throw new NotExportedError();
  const layout = (await contents.read(`${API_PATH}thumbnails?${query}`)) as SpriteTiles;
  const { per_tile: perTile, tile_columns: tileColumns } = layout;
  const { cell_width: width, cell_height: height } = layout;
  const tile = Math.floor(at / perTile);
  const path = `${API_PATH}thumbnail_tile?${query}&${encodeQuery({ version: about.version, tile })}`;
  const { content } = (await contents.read(path)) as { readonly content: Uint8Array };
  const place = at % perTile;
  const left = (place % tileColumns) * width;
  const top = Math.floor(place / tileColumns) * height;
  const sheet = new Blob([Uint8Array.from(content)], { type: 'image/png' });
  const image = await createImageBitmap(sheet, left, top, width, height);
  const canvas = new OffscreenCanvas(width, height);
  canvas.getContext('2d')?.drawImage(image, 0, 0);
  return canvas.convertToBlob({ type: 'image/png' });
}

/** Return one row from the exported columns; images and lists are not exported. */
export function makeRow({ about, columns }: StaticSession, row: number): RowResponse {
  const at = columns?.rows.indexOf(row) ?? -1;
  if (!columns || at < 0) throw new NotExportedError();
  const inputs = new Map(about.columns.map((column) => [column.name, column]));
  const values = columns.columns
    .filter(({ name }) => !inputs.get(name)?.is_computed)
    .map((column) => {
      const value = column.codes
        ? (column.categories[column.codes[at] ?? -1] ?? null)
        : (column.numbers?.[at] ?? null);
      const isKnown = value === null || typeof value === 'string' || !Number.isNaN(value);
      const shown = isKnown ? value : null;
      return {
        name: column.name,
        type: column.type,
        is_list: inputs.get(column.name)?.is_list ?? false,
        is_sequence: false,
        value: shown,
        original: shown,
        is_truncated: false,
        bytes: null,
        attributions: {},
      };
    });
  return { version: about.version, row, values, scores: [] };
}

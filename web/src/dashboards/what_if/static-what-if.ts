/** Data sets of a static export: columns, metrics and statistics, without models and changes. */
import type { RowResponse, StaticSession } from '../../api/schemas';
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
  'GET what_if/row': async ({ session, row = 0 }, contents) =>
    makeRow(await readSession(contents, session), row),
};

async function readSession(contents: ExportContents, session: string): Promise<StaticSession> {
  const path = `${API_PATH}static?${encodeQuery({ session })}`;
  if (!contents.has(path)) throw new NotExportedError();
  return (await contents.read(path)) as StaticSession;
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

import { NotExportedError } from '../../api/errors';
import type { ImportanceResponse, SparklinesResponse } from '../../api/schemas';
import type { StaticHandlers } from '../../api/static/static-transport';
import { encodeQuery } from '../../api/transport';

/** A static export has the importance and the sparklines of each metric, for all trials of a study. */
export const hparamsHandlers: StaticHandlers = {
  'POST hparams/importance': async (
    { metric, reduction, aggregation, sessions, study },
    contents,
  ) => {
    const isExported = reduction === 'last' && aggregation === null && sessions === null;
    if (!isExported) throw new NotExportedError();
    const query = encodeQuery({ metric, reduction: 'last', study });
    return (await contents.read(`api/v1/hparams/importance?${query}`)) as ImportanceResponse;
  },
  'POST hparams/sparklines': async ({ metric }, contents) => {
    const query = encodeQuery({ metric });
    return (await contents.read(`api/v1/hparams/sparklines?${query}`)) as SparklinesResponse;
  },
};

import type { StaticTimeline } from '../../api/schemas';
import type { ExportContents, StaticHandlers } from '../../api/static/static-transport';

/** The timeline of a capture in a static export, which has tiles of one level of detail. */
export const profileHandlers: StaticHandlers = {
  'POST profile/timeline': async ({ capture }, contents) =>
    (await readTimeline(capture, contents)).timeline,
  'POST profile/timeline/tiles': async ({ capture }, contents) =>
    (await readTimeline(capture, contents)).tiles,
};

async function readTimeline(capture: string, contents: ExportContents): Promise<StaticTimeline> {
  const path = `api/v1/profile/timeline?capture=${encodeURIComponent(capture)}`;
  return (await contents.read(path)) as StaticTimeline;
}

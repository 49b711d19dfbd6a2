import type { CounterTrack, StaticTimeline } from '../../api/schemas';
import type { ExportContents, StaticHandlers } from '../../api/static/static-transport';

/** The timeline of a capture in a static export, which has one level of detail. */
export const profileHandlers: StaticHandlers = {
  'POST profile/timeline': async ({ capture }, contents) =>
    (await readTimeline(capture, contents)).timeline,
  'POST profile/timeline/tiles': async ({ capture }, contents) =>
    (await readTimeline(capture, contents)).tiles,
  'POST profile/timeline/counters': async ({ capture, start, end }, contents) => {
    const { counters } = (await readTimeline(capture, contents)).counters;
    return { counters: counters.map((counter) => selectTimes(counter, start ?? 0, end ?? 0)) };
  },
};

/** Return the part of a counter in a range of time, beginning with the value at its start. */
function selectTimes(counter: CounterTrack, start: number, end: number): CounterTrack {
  const first = Math.max(
    0,
    counter.times.findLastIndex((time) => time <= start),
  );
  const next = counter.times.findIndex((time) => time >= end);
  const last = next < 0 ? counter.times.length : next;
  const times = counter.times.slice(first, last).map((time) => Math.max(time, start));
  return { ...counter, times, values: counter.values.slice(first, last) };
}

async function readTimeline(capture: string, contents: ExportContents): Promise<StaticTimeline> {
  const path = `api/v1/profile/timeline?capture=${encodeURIComponent(capture)}`;
  return (await contents.read(path)) as StaticTimeline;
}

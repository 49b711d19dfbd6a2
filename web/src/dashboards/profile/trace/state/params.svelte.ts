import * as codec from '../../../../base/codec';
import type { Param } from '../../../../plugin/context';
import type { Profile } from '../../profile.svelte';

export type TraceParams = ReturnType<typeof openTraceParams>;

/** Numbers of tracks. */
const tracks: codec.Codec<readonly number[]> = {
  parse: (text) => text.split('.').map(Number).filter(Number.isInteger),
  format: (ids) => ids.join('.'),
};

/** What of the trace is seen, beside where in it: tracks that are pinned, hidden, open or not. */
export function openTraceParams(profile: Profile) {
  return {
    ...profile.params,
    pinned: profile.param('trace-pinned', tracks, []),
    hidden: profile.param('trace-hidden', tracks, []),
    turned: profile.param('trace-turned', tracks, []),
    /** A stretch that is measured, in microseconds as the span. */
    measured: profile.param('trace-measured', codec.range, null),
    colour: profile.param('trace-colour', codec.choice(['name', 'track'], 'name'), 'name'),
    arrows: profile.param('trace-arrows', codec.flag, false),
  };
}

/** The same for a second capture: which of its tracks are pinned is not in the address. */
export function makeLocal(params: TraceParams): TraceParams {
  return { ...params, pinned: local(), hidden: local(), turned: local() };
}

function local(): Param<readonly number[]> {
  let value = $state.raw<readonly number[]>([]);
  return {
    get value() {
      return value;
    },
    set(next) {
      value = next;
    },
  };
}

import * as codec from '../../../base/codec';
import type { Context } from '../../../plugin/context';

const RULES = ['ours', 'xprof'] as const;
export type Rules = (typeof RULES)[number];
export const USUAL_RULES: Rules = 'ours';
export type Params = ReturnType<typeof openParams>;

/** What of a trace is looked at; tools link to it, the trace viewer reads it. */
export interface Spot {
  /** Which event of the trace. */
  readonly event: number | null;
  /** From where to where, in microseconds since the trace began. */
  readonly span: readonly [number, number] | null;
  /** What is looked for in the whole trace. */
  readonly find: string;
}

/** All that decides which capture is looked at, and by which tool. */
export function openParams({ address }: Pick<Context, 'address'>) {
  return {
    capture: address.param('capture', codec.text, ''),
    /** The capture that it is compared with. */
    before: address.param('before', codec.text, ''),
    host: address.param('p-host', codec.text, ''),
    /** The name of the events that somebody took for marks of steps. */
    marker: address.param('p-marker', codec.text, ''),
    /** Whose rules steps and their parts are found by. */
    rules: address.param('p-rules', codec.choice(RULES, USUAL_RULES), USUAL_RULES),
    /** From which percent of a step on things are told, where that is not as usual. */
    thresholds: address.param('p-thresholds', codec.text, ''),
    tool: address.param('tool', codec.text, 'overview'),
    event: address.param('p-event', codec.optionalNumber, null),
    span: address.param('p-span', codec.range, null),
    find: address.param('p-find', codec.text, ''),
    findRegex: address.param('p-find-regex', codec.flag, false),
    findArguments: address.param('p-find-arguments', codec.flag, false),
  };
}

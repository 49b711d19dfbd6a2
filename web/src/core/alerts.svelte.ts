import { problemOf } from '../api/client';
import { type Rule, setRules } from '../api/notes';
import type { Problem } from '../api/types';
import { list } from '../base/codec';
import { notes } from './notes.svelte';
import { tastes } from './tastes.svelte';

const MOST_REMEMBERED = 200;

/** The rules that watch the log, and what they have found. */
class Alerts {
  /** Why the last change of the rules was not kept. */
  problem = $state.raw<Problem | null>(null);

  readonly #seen = tastes.param('alerts-seen', list, []);

  readonly rules = $derived(notes.alerts.rules);
  /** The newest first. */
  readonly fired = $derived(notes.alerts.alerts);
  /** Whether alarms are also sent somewhere. */
  readonly webhook = $derived(notes.alerts.webhook);
  /** How many nobody has looked at in this browser. */
  readonly unseen = $derived(
    this.fired.filter(({ id, resolved }) => !resolved && !this.#seen.value.includes(id)).length,
  );

  markSeen(): void {
    this.#seen.set(this.fired.map(({ id }) => id).slice(0, MOST_REMEMBERED));
  }

  add(rule: Omit<Rule, 'id'>): Promise<void> {
    return this.#save([...this.#own(), { ...rule, id: makeId() }]);
  }

  remove(id: string): Promise<void> {
    return this.#save(this.#own().filter((rule) => rule.id !== id));
  }

  /** Those that may be changed; others were given on the server's command line. */
  #own(): Rule[] {
    return this.rules
      .filter((rule) => !rule.fixed)
      .map(({ id, tag, kind, value, goal }) => ({ id, tag, kind, value, goal }));
  }

  async #save(rules: readonly Rule[]): Promise<void> {
    try {
      await setRules(rules);
      this.problem = null;
    } catch (error) {
      this.problem = problemOf(error);
    }
    notes.refresh();
  }
}

/** Not `crypto.randomUUID`, which a page has only from this machine or over HTTPS. */
function makeId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('');
}

export const alerts = new Alerts();

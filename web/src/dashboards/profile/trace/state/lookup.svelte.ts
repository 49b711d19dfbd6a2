import { untrack } from 'svelte';

import { Asking } from '../../../../api/asking.svelte';

/** Asks whenever a question that is read in an effect changes, after it has stood for a while. */
export function askWhenChanged<Question, Answer>(
  question: () => Question | null,
  ask: (question: Question, signal: AbortSignal) => Promise<Answer>,
  { after = 0, kept = false } = {},
): Asking<Answer> {
  const asking = new Asking<Answer>();
  $effect(() => {
    const wanted = question();
    const timer = setTimeout(
      () => untrack(() => asking.ask(wanted && ((signal) => ask(wanted, signal)), kept)),
      after,
    );
    return () => clearTimeout(timer);
  });
  $effect(() => () => asking.stop());
  return asking;
}

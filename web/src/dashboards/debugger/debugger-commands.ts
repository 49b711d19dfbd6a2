import * as m from '../../catalog/debugger';
import type { Command } from '../../plugin/context';
import type { DebuggerState } from './debugger-state.svelte';
import { VIEW_LABELS } from './labels';

const MAX_COMMANDS = 8;

/** Views, dumps and recordings for the command palette. */
export function registerDebuggerCommands(debug: DebuggerState): () => void {
  return debug.context.commands.register((query) => {
    const text = query.toLowerCase();
    return [...listViews(debug), ...listSources(debug)]
      .filter(({ label }) => label.toLowerCase().includes(text))
      .slice(0, MAX_COMMANDS);
  });
}

function listViews(debug: DebuggerState): Command[] {
  return debug.views.map((view) => ({
    label: VIEW_LABELS[view],
    kind: m.title,
    run: () => debug.openView(view),
  }));
}

function listSources(debug: DebuggerState): Command[] {
  return debug.rows.map((row) => ({
    label: debug.getLabel(row),
    kind: row.kind === 'dump' ? m.dump : m.recording,
    run: () => debug.openSource(row.name),
  }));
}

import type { Shortcut } from '../../plugin/context';
import type { Graphs } from './graphs.svelte';

/** The keys of the view; returns how to take them back. */
export function registerKeys(graphs: Graphs, focusSearch: () => void): () => void {
  const { stage, params } = graphs;
  const trace = (direction: 'inputs' | 'outputs'): void =>
    params.trace.set(params.trace.value === direction ? 'off' : direction);
  const shortcuts: Omit<Shortcut, 'group'>[] = [
    { keys: 'f', label: 'Find nodes', run: focusSearch },
    { keys: 'z', label: 'Fit the graph to the screen', run: () => stage.fit() },
    { keys: '+', label: 'Zoom in', run: () => stage.zoomBy(1.25) },
    { keys: '-', label: 'Zoom out', run: () => stage.zoomBy(0.8) },
    { keys: 'i', label: 'Trace to the inputs of the chosen node', run: () => trace('inputs') },
    { keys: 'o', label: 'Trace to the outputs of the chosen node', run: () => trace('outputs') },
    { keys: 'c', label: 'Close all groups', run: () => graphs.closeAll() },
    { keys: 'Escape', label: 'Let go of what is chosen', run: () => graphs.letGo() },
  ];
  const stops = shortcuts.map((shortcut) =>
    graphs.context.keys.register({ ...shortcut, group: 'Graphs' }),
  );
  return () => stops.forEach((stop) => stop());
}

import { mount, unmount } from 'svelte';

import Chart from './Chart.svelte';
import { type Model, Told } from './model.svelte';

/** Shows a chart in a cell, as notebooks call it; returns how to end that. */
function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  const ending = new AbortController();
  void untilSeen(el, ending.signal).then(() => {
    if (!ending.signal.aborted) show(model, el, ending.signal);
  });
  return () => ending.abort();
}

/** A notebook puts a cell into its page after this, and a chart takes its colours from there. */
async function untilSeen(el: HTMLElement, signal: AbortSignal): Promise<void> {
  while (!el.isConnected && !signal.aborted) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

function show(model: Model, el: HTMLElement, signal: AbortSignal): void {
  const told = new Told(model);
  const chart = mount(Chart, {
    target: el,
    props: {
      told,
      title: model.get('title'),
      axis: model.get('axis'),
      height: model.get('height'),
      isDark: isDark(),
    },
  });
  signal.addEventListener('abort', () => {
    told.letGo();
    void unmount(chart);
  });
}

/** What JupyterLab, VS Code and Colab say of their themes. */
function isDark(): boolean {
  const { jpThemeLight, vscodeThemeKind } = document.body.dataset;
  if (jpThemeLight !== undefined) return jpThemeLight === 'false';
  if (vscodeThemeKind !== undefined) return vscodeThemeKind.includes('dark');
  return document.documentElement.getAttribute('theme') === 'dark';
}

export default { render };

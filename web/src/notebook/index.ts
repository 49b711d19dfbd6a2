// First: modules that are imported later use messages in constants.
import '../catalog/start-locales';

import { mount, unmount } from 'svelte';

import NotebookChart from './NotebookChart.svelte';
import { type WidgetModel, ChartModel } from './chart-model.svelte';

/** Shows a chart in a cell, as notebooks call it; returns how to end that. */
function render({ model, el }: { model: WidgetModel; el: HTMLElement }): () => void {
  const ending = new AbortController();
  void waitUntilConnected(el, ending.signal).then(() => {
    if (!ending.signal.aborted) mountChart(model, el, ending.signal);
  });
  return () => ending.abort();
}

/** A notebook puts a cell into its page after this, and a chart takes its colours from there. */
async function waitUntilConnected(el: HTMLElement, signal: AbortSignal): Promise<void> {
  while (!el.isConnected && !signal.aborted) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

function mountChart(model: WidgetModel, el: HTMLElement, signal: AbortSignal): void {
  const chartModel = new ChartModel(model);
  const chart = mount(NotebookChart, {
    target: el,
    props: {
      model: chartModel,
      title: model.get('title'),
      axis: model.get('axis'),
      height: model.get('height'),
      isDark: isDark(),
    },
  });
  signal.addEventListener('abort', () => {
    chartModel.dispose();
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

import { setTransport } from './api/transport';
import {
  ExportContents,
  type ExportData,
  StaticTransport,
  stepsHandlers,
} from './api/static/static-transport';
import { makeScalarHandlers } from './api/static/static-scalars';
import {
  debuggerHandlers,
  graphHandlers,
  hparamsHandlers,
  profileHandlers,
  whatIfHandlers,
} from './dashboards/static-handlers';
import { fairnessHandlers } from './dashboards/fairness/static-fairness';
import { histogramHandlers } from './dashboards/histograms/query';
import { prCurveHandlers } from './dashboards/pr_curves/query';
import { projectorHandlers } from './dashboards/projector/static-projector';
import { setExportedColors } from './lib/run-colors';

declare global {
  // The scripts of an export are not modules: they share their data through a global.
  var tracklight: ExportData;
}

const contents = new ExportContents(globalThis.tracklight);
setTransport(
  new StaticTransport(contents, {
    ...makeScalarHandlers(contents),
    ...stepsHandlers,
    ...debuggerHandlers,
    ...fairnessHandlers,
    ...graphHandlers,
    ...histogramHandlers,
    ...prCurveHandlers,
    ...hparamsHandlers,
    ...profileHandlers,
    ...projectorHandlers,
    ...whatIfHandlers,
  }),
);
setExportedColors(new Map(Object.entries(contents.head.run_colors)));
if (location.search === '' && contents.head.view !== '') restoreView(contents.head.view);

/** Put the exported view into the URL, which the state of the page is read from. */
function restoreView(view: string): void {
  try {
    history.replaceState(null, '', `${location.pathname}?${view}${location.hash}`);
  } catch {
    // A frame without a URL of its own shows the default view.
  }
}

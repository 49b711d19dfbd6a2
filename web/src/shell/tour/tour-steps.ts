import * as m from '../../catalog/tour';

/** One stop of the tour. */
export interface TourStep {
  readonly title: string;
  readonly text: string;
  /** The dashboard that is opened; the step is left out if it has no data. */
  readonly tab: string | null;
  /** Selector of the element that is outlined. */
  readonly target: string | null;
}

const step = (
  title: string,
  text: string,
  tab: string | null = null,
  target: string | null = null,
): TourStep => ({ title, text, tab, target });

const STEPS: readonly TourStep[] = [
  step(m.welcomeTitle, m.welcomeText, 'scalars'),
  step(m.runsTitle, m.runsText, 'scalars', '#runs-sidebar'),
  step(m.chartTitle, m.chartText, 'scalars', '#content [data-card]'),
  step(m.searchTitle, m.searchText, null, 'header [aria-keyshortcuts]'),
  step(m.tableTitle, m.tableText, 'runs', '#content'),
  step(m.hparamsTitle, m.hparamsText, 'hparams', '#content'),
  step(m.mediaTitle, m.mediaText, 'images', '#content [data-card]'),
  step(m.graphsTitle, m.graphsText, 'graphs', '#content'),
  step(m.projectorTitle, m.projectorText, 'projector', '#content'),
  step(m.profileTitle, m.profileText, 'profile', '#content'),
  step(m.debuggerTitle, m.debuggerText, 'debugger', '#content'),
  step(m.whatIfTitle, m.whatIfText, 'what_if', '#content'),
  step(m.endTitle, m.endText),
];

/** Return the steps for the dashboards that have data. */
export function listSteps(tabs: readonly string[]): readonly TourStep[] {
  return STEPS.filter(({ tab }) => tab === null || tabs.includes(tab));
}

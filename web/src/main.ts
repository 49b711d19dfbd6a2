import { prefetch, RUNS_PATH } from './api/prefetch';
import { loadLocale } from './i18n/load';

// The page requests these first. The server responds while the browser compiles the code.
prefetch(RUNS_PATH);
for (const name of ['status', 'tags', 'dashboards']) prefetch(`api/v1/${name}`);

// Modules of the page use messages in constants, so they load after the texts.
void loadLocale().then(() => import('./app'));

import { loadLocale } from './i18n/load';

// Modules of the page use messages in constants, so they load after the texts.
void loadLocale().then(() => import('./app'));

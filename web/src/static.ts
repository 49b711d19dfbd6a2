// First: modules that are imported later read the export, and use messages in constants.
import './api/static/install';
import './catalog/all-locales';

import { mount } from 'svelte';

import { BUILT_IN } from './dashboards';
import { setDocumentLanguage } from './i18n/locale';
import App from './shell/App.svelte';

setDocumentLanguage();
mount(App, { target: document.body, props: { builtIn: BUILT_IN } });

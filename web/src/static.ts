// First: modules that are imported later use messages in constants, and read the transport and the
// URL when they are loaded.
import './catalog/all-locales';
import './static-setup';

import { mount } from 'svelte';

import { BUILT_IN } from './dashboards';
import { setDocumentLanguage } from './i18n/messages';
import App from './shell/App.svelte';

/** The table of runs is queried from a server. */
const builtIn = BUILT_IN.filter(({ name }) => name !== 'runs');

setDocumentLanguage();
mount(App, { target: document.body, props: { builtIn } });

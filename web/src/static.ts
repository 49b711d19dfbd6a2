// First: it sets the transport and restores the exported view before the page reads the URL.
import './api/static/install';

import { mount } from 'svelte';

import { BUILT_IN } from './dashboards';
import App from './shell/App.svelte';

mount(App, { target: document.body, props: { builtIn: BUILT_IN } });

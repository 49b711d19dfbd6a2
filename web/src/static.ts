// First: everything that is imported after it asks the copy, and finds the view in the address.
import './api/static/install';

import { mount } from 'svelte';

import { BUILT_IN } from './dashboards';
import App from './shell/App.svelte';

mount(App, { target: document.body, props: { builtIn: BUILT_IN } });

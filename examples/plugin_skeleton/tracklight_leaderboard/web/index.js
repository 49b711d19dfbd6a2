/** Fills `target` with the ranking of the runs that are shown; returns how to take it away. */
export function mount(target, context) {
  const tag = context.address.param('board-tag', asIs, '');
  const goal = context.address.param('board-goal', asIs, 'min');
  const view = buildView(target);
  let asked = 0;

  view.tag.addEventListener('change', () => tag.set(view.tag.value));
  view.goal.addEventListener('change', () => goal.set(view.goal.value));

  async function refresh() {
    const scalars = context.tags.rows.filter((row) => row.kind === 'scalar');
    const chosen = tag.value || scalars[0]?.tag;
    fillTags(view.tag, scalars, chosen);
    view.goal.value = goal.value;
    if (chosen === undefined) return;
    const runs = context.runs.shown.map((run) => run.name);
    const number = ++asked;
    try {
      const ranking = await context.api.post('ranking', { tag: chosen, goal: goal.value, runs });
      // An answer that was overtaken by a later question is no longer wanted.
      if (number === asked) fillTable(view.body, ranking, context.runs);
    } catch (error) {
      if (number === asked) view.body.replaceChildren(makeRow('', error.message, '', ''));
    }
  }

  const stop = context.subscribe(refresh);
  refresh();
  return () => {
    stop();
    asked += 1;
    target.replaceChildren();
  };
}

const asIs = { parse: (text) => text, format: (text) => text };

function buildView(target) {
  const style = make('link', { rel: 'stylesheet', href: new URL('style.css', import.meta.url).href });
  const tag = make('select', { ariaLabel: 'Scalar' });
  const goal = make('select', { ariaLabel: 'Goal' });
  goal.append(make('option', { value: 'min' }, 'lowest first'));
  goal.append(make('option', { value: 'max' }, 'highest first'));
  const bar = make('div', { className: 'leaderboard-bar' });
  bar.append(tag, goal);
  const head = make('thead');
  head.append(makeRow('', 'Run', 'Best', 'Step', 'th'));
  const body = make('tbody');
  const table = make('table', { className: 'leaderboard' });
  table.append(head, body);
  target.replaceChildren(style, bar, table);
  return { tag, goal, body };
}

function fillTags(select, rows, chosen) {
  const names = rows.map((row) => row.tag);
  const known = [...select.options].map((option) => option.value);
  if (names.join('\n') !== known.join('\n')) {
    select.replaceChildren(...names.map((name) => make('option', { value: name }, name)));
  }
  select.value = chosen ?? '';
}

function fillTable(body, ranking, runs) {
  body.replaceChildren(
    ...ranking.runs.map((name, at) => {
      const shown = runs.find(name);
      const value = ranking.values[at].toPrecision(4);
      const row = makeRow('', shown?.label ?? name, value, ranking.steps[at].toLocaleString());
      row.cells[0].style.backgroundColor = shown?.colour ?? 'transparent';
      return row;
    }),
  );
}

function makeRow(colour, run, value, step, cell = 'td') {
  const row = make('tr');
  row.append(...[colour, run, value, step].map((text) => make(cell, {}, text)));
  return row;
}

function make(name, properties = {}, text = '') {
  const element = Object.assign(document.createElement(name), properties);
  // Names come from a log and may hold anything, so they are never taken for HTML.
  element.textContent = text;
  return element;
}

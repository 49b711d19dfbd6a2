/** Fill `target` with the ranking of the selected runs; return a function that removes it. */
export function mount(target, context) {
  const tag = context.url.param('board-tag', asIs, '');
  const goal = context.url.param('board-goal', asIs, 'min');
  const view = buildView(target);
  let lastRequest = 0;

  view.tag.addEventListener('change', () => tag.set(view.tag.value));
  view.goal.addEventListener('change', () => goal.set(view.goal.value));

  async function refresh() {
    const scalars = context.tags.rows.filter((row) => row.kind === 'scalar');
    const chosen = tag.value || scalars[0]?.tag;
    fillTags(view.tag, scalars, chosen);
    view.goal.value = goal.value;
    if (chosen === undefined) return;
    const request = ++lastRequest;
    try {
      const path = `ranking?tag=${encodeURIComponent(chosen)}&goal=${goal.value}`;
      const ranking = await context.api.get(path);
      // Ignore a response that a later request has overtaken.
      if (request === lastRequest) fillTable(view.body, ranking, context.runs);
    } catch (error) {
      if (request === lastRequest) view.body.replaceChildren(makeRow('', error.message, '', ''));
    }
  }

  const stop = context.subscribe(refresh);
  refresh();
  return () => {
    stop();
    lastRequest += 1;
    target.replaceChildren();
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((one) => one !== style);
  };
}

// Colors come from the page, so that the dashboard follows its theme. The style sheet is part of this
// file, as a static export contains no other files of the plugin.
const style = new CSSStyleSheet();
style.replaceSync(`
  .leaderboard-bar { display: flex; gap: 8px; padding: 12px 16px; }
  .leaderboard-bar select {
    padding: 4px 8px; color: var(--text); font: inherit;
    background: var(--raise); border: 1px solid var(--line-strong); border-radius: 6px;
  }
  .leaderboard { width: auto; margin: 0 16px; border-collapse: collapse; }
  .leaderboard :is(th, td) { padding: 4px 12px; text-align: left; }
  .leaderboard :is(th, td):first-child { width: 4px; padding: 0; }
  .leaderboard :is(th, td):nth-child(n + 3) { text-align: right; font-variant-numeric: tabular-nums; }
`);

const asIs = { parse: (text) => text, format: (text) => text };

function buildView(target) {
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, style];
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
  target.replaceChildren(bar, table);
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
  const rows = [];
  ranking.runs.forEach((name, at) => {
    const run = runs.visible.find((one) => one.name === name);
    if (run === undefined) return;
    const value = ranking.values[at].toPrecision(4);
    const row = makeRow('', run.label, value, ranking.steps[at].toLocaleString());
    row.cells[0].style.backgroundColor = run.color;
    rows.push(row);
  });
  body.replaceChildren(...rows);
}

function makeRow(color, run, value, step, cell = 'td') {
  const row = make('tr');
  row.append(...[color, run, value, step].map((text) => make(cell, {}, text)));
  return row;
}

function make(name, properties = {}, text = '') {
  const element = Object.assign(document.createElement(name), properties);
  // Names come from a log and may contain anything: never insert them as HTML.
  element.textContent = text;
  return element;
}

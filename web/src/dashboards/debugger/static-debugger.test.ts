import { describe, expect, it } from 'vitest';

import type { DebugAlertsResponse, EventColumns, HealthAlert } from '../../api/schemas';
import { selectAlerts, selectEvents } from './static-debugger';

const makeAlert = (kind: HealthAlert['kind'], opName: string, step: number): HealthAlert => ({
  kind,
  op_type: '',
  op_name: opName,
  output_slot: 0,
  wall_time: step,
  step,
  size: 1,
  nan: 1,
  neg_inf: 0,
  pos_inf: 0,
  execution: null,
  graph_execution: null,
  dtype: 'float32',
  role: '',
  tensor: 0,
  message: '',
  code: '',
  args: {},
});

describe('selectAlerts', () => {
  const response: DebugAlertsResponse = {
    cursor: '',
    total: 3,
    indexes: Float64Array.of(0, 1, 2),
    alerts: [makeAlert('inf', 'log', 5), makeAlert('nan', 'loss', 5), makeAlert('nan', 'fc', 6)],
  };
  const names = (request: object): string[] =>
    selectAlerts(response, { source: '', ...request }).alerts.map(({ op_name }) => op_name);

  it('filters as the server does', () => {
    expect(names({})).toEqual(['log', 'loss', 'fc']);
    expect(names({ kinds: ['nan'] })).toEqual(['loss', 'fc']);
    expect(names({ query: 'LO' })).toEqual(['log', 'loss']);
    expect(names({ first_step: 6 })).toEqual(['fc']);
    expect(names({ dtype: 'float16' })).toEqual([]);
  });

  it('returns pages with the positions among all alerts', () => {
    const page = selectAlerts(response, { source: '', kinds: ['nan'], offset: 1, limit: 1 });
    expect([page.total, ...page.indexes]).toEqual([2, 2]);
  });
});

describe('selectEvents', () => {
  const response: EventColumns = {
    cursor: '',
    total: 3,
    index: Float64Array.of(0, 1, 2),
    wall_time: Float64Array.of(1, 2, 3),
    op_type: ['Relu', 'Log', 'Mean'],
    op_name: ['relu', 'loss/Log', 'loss/Mean'],
    slot: Int32Array.of(0, 0, 0),
    graph: ['a', 'b', 'b'],
    health: Uint8Array.of(1, 2, 2),
    position: null,
  };
  const select = (request: object): EventColumns =>
    selectEvents(response, { source: '', ...request });

  it('filters as the server does', () => {
    expect(select({}).op_type).toEqual(['Relu', 'Log', 'Mean']);
    expect(select({ query: 'LO' }).op_type).toEqual(['Log', 'Mean']);
    expect(select({ only_non_finite: true, graph: 'b' }).total).toBe(2);
    expect(select({ op_name: 'relu' }).wall_time).toEqual(Float64Array.of(1));
  });

  it('returns a page and the position of an event', () => {
    const page = select({ only_non_finite: true, offset: 1, limit: 1, locate: 2 });
    expect(page.index).toEqual(Float64Array.of(2));
    expect([page.total, page.position]).toEqual([2, 1]);
  });
});

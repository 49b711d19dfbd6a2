import { describe, expect, it } from 'vitest';

import type { DebugAlertsResponse, EventColumns, HealthAlert, RootCause } from '../../api/schemas';
import {
  drawHeatmapRow,
  findColumn,
  findEventIndex,
  listTicks,
  makeBarsPath,
  makeHeatmapScale,
  toVisibleGroups,
  zoomRange,
} from './debugger-charts';
import {
  describeAlert,
  describeRootCause,
  foldFrames,
  formatShape,
  getFileName,
  getOpLabel,
} from './labels';
import { isSameSelection, type Selection, selectionCodec } from './debugger-state.svelte';
import { selectAlerts, selectEvents } from '../static-handlers';

describe('labels', () => {
  const alert: HealthAlert = {
    kind: 'nan',
    op_type: 'Log',
    op_name: 'loss/Log',
    output_slot: 0,
    wall_time: 0,
    step: null,
    size: 4000,
    nan: 1234,
    neg_inf: 0,
    pos_inf: 2,
    execution: null,
    graph_execution: 5,
    dtype: 'float32',
    role: '',
    tensor: null,
    message: '',
    code: '',
    args: {},
  };

  const cause: RootCause = {
    ...alert,
    message: '',
    detail: '',
    hint: '',
    hint_code: '',
    hint_args: {},
    inputs: [],
    source: null,
    stack: [],
    followers: 0,
    is_certain: true,
  };

  describe('describeAlert', () => {
    it('lists the counts that are not zero', () => {
      expect(describeAlert(alert)).toBe('1,234 NaN, 2 +Inf of 4,000');
    });

    it('says what is known without counts', () => {
      const unknown = {
        ...alert,
        kind: 'nan_or_inf',
        nan: null,
        neg_inf: null,
        pos_inf: null,
      } as const;
      expect(describeAlert(unknown)).toBe('NaN or Inf');
    });

    it('shows the sentence of the server for gradual problems', () => {
      expect(describeAlert({ ...alert, kind: 'dead_units', message: 'All dead.' })).toBe(
        'All dead.',
      );
    });
  });

  describe('describeRootCause', () => {
    it('names the operation and the counts', () => {
      expect(describeRootCause(cause)).toBe(
        'Log “loss/Log” produced 1,234 NaN, 2 +Inf of 4,000 values',
      );
    });

    it('names the role of the tensor', () => {
      const gradient = { ...cause, role: 'gradient', op_type: '', op_name: 'fc.weight' };
      expect(describeRootCause(gradient)).toContain('The gradient of “fc.weight” contains');
    });

    it('describes gradual problems', () => {
      const dead = { ...cause, kind: 'dead_units', detail: '9 of 9 units are zero.' } as const;
      expect(describeRootCause(dead)).toBe('Dead units in Log “loss/Log”: 9 of 9 units are zero.');
    });
  });

  describe('formatting', () => {
    it('formats shapes', () => {
      expect(formatShape([32, null, 10])).toBe('32 × ? × 10');
      expect(formatShape([])).toBe('scalar');
      expect(formatShape(null)).toBe('');
    });

    it('finds file names on all platforms', () => {
      expect(getFileName('/home/me/train.py')).toBe('train.py');
      expect(getFileName('C:\\code\\train.py')).toBe('train.py');
    });

    it('does not repeat a type that is the name', () => {
      expect(getOpLabel('log', 'log')).toBe('“log”');
      expect(getOpLabel('MatMul', '')).toBe('MatMul');
    });
  });
});

describe('selectionCodec', () => {
  const selections: Selection[] = [
    { kind: 'execution', index: 12 },
    { kind: 'graph_execution', index: 34 },
    { kind: 'tensor', index: 5, step: 80 },
    { kind: 'tensor', index: 5, step: null },
    { kind: 'value', name: 'layer/log:0' },
  ];

  it.each(selections)('round-trips %j', (selection) => {
    expect(selectionCodec.parse(selectionCodec.format(selection))).toEqual(selection);
  });

  it('ignores invalid text', () => {
    for (const text of ['', 'x1', 'e', 'e-1', 'g1.5'])
      expect(selectionCodec.parse(text)).toBeNull();
  });

  it('compares by content', () => {
    expect(isSameSelection({ kind: 'execution', index: 1 }, { kind: 'execution', index: 1 })).toBe(
      true,
    );
    expect(isSameSelection({ kind: 'execution', index: 1 }, null)).toBe(false);
  });
});

describe('static debugger', () => {
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
});

describe('neighborhood', () => {
  it('shows the last part of the name of an operation, and its health', () => {
    const group = toVisibleGroups({
      nodes: [
        { name: 'model/loss/Log', type: 'Log', role: '', health: 2, tensor: null },
        { name: 'model/Relu', type: 'Relu', role: '', health: 1, tensor: null },
      ],
      edges: [[1, 0]],
      is_truncated: false,
    }).get('');
    expect(group?.nodes.map(({ label }) => label)).toEqual(['Log', 'Relu']);
    expect(group?.nodes.map(({ shape }) => shape)).toEqual(['NaN/Inf', 'Finite']);
    expect(group?.edges).toMatchObject([{ source: 1, target: 0 }]);
  });

  it('shows type and role of a tensor', () => {
    const nodes = [
      { name: 'fc1', type: 'Linear', role: 'output', health: 0, tensor: 3 },
      { name: 'fc1.weight', type: '', role: 'parameter', health: 1, tensor: 0 },
    ];
    const group = toVisibleGroups({ nodes, edges: [[1, 0]], is_truncated: false }).get('');
    expect(group?.nodes.map(({ op }) => op)).toEqual(['Linear · output', 'parameter']);
  });
});

describe('stack frames', () => {
  const frame = (path: string, isLibrary: boolean) => ({
    path,
    line: 1,
    function: 'f',
    code: '',
    is_library: isLibrary,
  });

  describe('foldFrames', () => {
    const frames = [
      frame('main.py', false),
      frame('keras/a.py', true),
      frame('keras/b.py', true),
      frame('model.py', false),
    ];

    it('folds library frames in a row, innermost first', () => {
      const kinds = foldFrames(frames, false).map((part) =>
        part.kind === 'folded' ? part.count : part.frame.path,
      );
      expect(kinds).toEqual(['model.py', 2, 'main.py']);
    });

    it('shows all frames when unfolded', () => {
      expect(foldFrames(frames, true)).toHaveLength(4);
    });
  });
});

describe('timeline layout', () => {
  it('draws a bar for each column with events', () => {
    const path = makeBarsPath(Float64Array.of(0, 4, 0, 1), 40, 20);
    expect(path.match(/M/g)).toHaveLength(2);
    expect(path).toContain('v-20h');
    expect(makeBarsPath(new Float64Array(4), 40, 20)).toBe('');
  });

  it('finds the first event of a column or after it', () => {
    const counts = Float64Array.of(2, 0, 3);
    expect(findEventIndex(counts, 10, 0)).toBe(10);
    expect(findEventIndex(counts, 10, 1)).toBe(12);
    expect(findEventIndex(counts, 10, 5)).toBe(14);
    expect(findEventIndex(new Float64Array(3), 10, 0)).toBeNull();
  });

  it('lists round ticks', () => {
    expect(listTicks([0, 1], 5)).toHaveLength(6);
    const inner = listTicks([0.31, 0.38], 4);
    expect(inner[0]).toBeCloseTo(0.32);
    expect(inner.length).toBeLessThanOrEqual(5);
    expect(listTicks([1, 1], 5)).toEqual([]);
  });

  it('zooms in either direction and stays in the range', () => {
    expect(zoomRange([10, 20], 0.8, 0.2)).toEqual([12, 18]);
    expect(zoomRange([10, 20], -1, 0.5)).toEqual([10, 15]);
  });
});

describe('makeHeatmapScale', () => {
  it('is logarithmic for magnitudes and ignores signs', () => {
    const scale = makeHeatmapScale(Float32Array.of(1, -100, 0, NaN, Infinity), 'norm');
    expect([scale.low, scale.high]).toEqual([1, 100]);
    expect(scale.toShare(10)).toBeCloseTo(0.5);
    expect(scale.toShare(-100)).toBe(1);
    expect(scale.toShare(0)).toBe(0);
    expect(scale.toShare(Infinity)).toBe(1);
    expect(scale.toShare(NaN)).toBeNaN();
  });

  it('is linear for counts and starts at 0', () => {
    const scale = makeHeatmapScale(Float32Array.of(4, 8), 'zeros');
    expect(scale.low).toBe(0);
    expect(scale.toShare(4)).toBe(0.5);
  });

  it('draws equal values with the lowest color', () => {
    expect(makeHeatmapScale(Float32Array.of(3, 3), 'norm').toShare(3)).toBe(0);
    expect(makeHeatmapScale(new Float32Array(), 'norm').toShare(3)).toBe(0);
  });
});

describe('drawHeatmapRow', () => {
  const ramp = new Uint8ClampedArray(4 * 256).map((_, at) => (at % 4 === 3 ? 255 : at >> 2));

  it('marks non-finite cells and leaves missing ones transparent', () => {
    const values = Float32Array.of(1, NaN, 100);
    const scale = makeHeatmapScale(values, 'norm');
    const palette = { ramp, bad: [200, 0, 0] as const };
    const pixels = drawHeatmapRow(values, Float32Array.of(0, 0, 2), scale, palette);
    expect([...pixels.subarray(0, 4)]).toEqual([20, 20, 20, 255]);
    expect(pixels[7]).toBe(0);
    expect([...pixels.subarray(8, 12)]).toEqual([200, 0, 0, 255]);
  });
});

describe('findColumn', () => {
  it('finds the interval of a step', () => {
    const first = Float64Array.of(10, 20, 30);
    expect([5, 10, 19, 20, 99].map((step) => findColumn(first, step))).toEqual([-1, 0, 0, 1, 2]);
  });
});

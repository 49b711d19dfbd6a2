import { describe, expect, it } from 'vitest';

import type {
  CaptureRow,
  CounterTrack,
  PrecisionRate,
  QueryResult,
  RooflineResponse,
} from '../../api/schemas';
import type { ExportContents } from '../../api/static/static-transport';
import { toCsv } from '../../cards/export';
import { profileHandlers } from '../static-handlers';
import {
  formatThresholds,
  getCaptureLabel,
  getFindingSpan,
  getSpanAroundEvent,
  makeCaptureOptions,
  makeCaptureRequest,
  setThreshold,
} from './captures';
import {
  formatBandwidth,
  formatFlopRate,
  formatPercent,
  shortenKernelName,
  shortenOpName,
} from './display';
import { getMaxStepMs, layoutStepColumns, makeStepLayers } from './overview/step-chart';
import { makeStepsTable } from './profile-commands';
import { listAchievedRates } from './tools/roofline-points';
import {
  formatCell,
  listPlaces,
  makeLocator,
  makeSqlColumns,
  makeSqlExport,
  makeSqlRows,
} from './tools/sql-result';

describe('profile', () => {
  describe('captures', () => {
    it('leaves default values out of requests', () => {
      const defaults = {
        host: '',
        marker: '',
        rules: 'ours',
        thresholds: '',
        version: null,
      } as const;
      expect(makeCaptureRequest({ capture: 'a', ...defaults })).toEqual({ capture: 'a' });
      expect(makeCaptureRequest({ capture: '', ...defaults, rules: 'xprof', version: 7 })).toEqual({
        capture: '',
        rules: 'xprof',
        version: 7,
      });
    });

    const title = { code: '', text: '', args: {} };
    const THRESHOLDS = [
      { name: 'input', title, percent: 5, default: 5 },
      { name: 'kernel launch', title, percent: 30, default: 15 },
    ];

    it('formats the thresholds that are not the defaults', () => {
      expect(formatThresholds(THRESHOLDS)).toBe('kernel launch:30');
      expect(formatThresholds(THRESHOLDS.slice(0, 1))).toBe('');
    });

    it('changes one threshold', () => {
      expect(setThreshold(THRESHOLDS, 'input', 12.5)).toBe('input:12.5,kernel launch:30');
      expect(setThreshold(THRESHOLDS, 'kernel launch', null)).toBe('');
    });

    it('limits thresholds to 0 to 100 percent', () => {
      expect(setThreshold(THRESHOLDS, 'input', 400)).toBe('input:100,kernel launch:30');
      expect(setThreshold(THRESHOLDS, 'input', -1)).toBe('input:0,kernel launch:30');
    });

    describe('spans of findings', () => {
      it('are in microseconds', () =>
        expect(getFindingSpan({ start_ps: 2e9, end_ps: 5e9 })).toEqual([2000, 5000]));

      it('are null without events', () =>
        expect(getFindingSpan({ start_ps: 0, end_ps: 0 })).toBeNull());

      it('contain an event with a margin', () => {
        expect(getSpanAroundEvent({ start_ps: 10e6, duration_ps: 3e6 })).toEqual([4, 19]);
      });

      it('do not start before the trace', () => {
        expect(getSpanAroundEvent({ start_ps: 1e6, duration_ps: 3e6 })[0]).toBe(0);
      });
    });

    const makeCapture = (id: string, run: string, step: number | null): CaptureRow => ({
      id,
      run,
      session: id,
      title: `title of ${id}`,
      kind: 'xplane',
      wall_s: 0,
      step,
      bytes: 10,
      version: 1,
      hosts: [],
    });

    const getRunLabel = (run: string): string => run;

    describe('the label of a capture', () => {
      it('is the run if it has one capture', () =>
        expect(
          getCaptureLabel(
            makeCapture('a', 'conv', 20),
            [makeCapture('a', 'conv', 20)],
            getRunLabel,
          ),
        ).toBe('conv'));

      it('has the step if the run has several captures', () => {
        const rows = [makeCapture('a', 'conv', 20), makeCapture('b', 'conv', 40)];
        expect(rows.map((each) => getCaptureLabel(each, rows, getRunLabel))).toEqual([
          'conv · step 20',
          'conv · step 40',
        ]);
      });

      it('has the title if steps are not unique', () => {
        const rows = [
          makeCapture('a', 'conv', null),
          makeCapture('b', 'conv', 40),
          makeCapture('c', 'conv', 40),
        ];
        expect(rows.map((each) => getCaptureLabel(each, rows, getRunLabel))).toEqual([
          'conv · title of a',
          'conv · title of b',
          'conv · title of c',
        ]);
      });

      it('is a dot for the log directory itself', () =>
        expect(getCaptureLabel(makeCapture('a', '.', null), [], getRunLabel)).toBe('.'));

      it('is the file of an uploaded capture', () =>
        expect(getCaptureLabel(makeCapture('mine', '', null), [], getRunLabel)).toBe('mine'));
    });

    it('groups capture options by run', () => {
      const rows = [
        makeCapture('a', 'one', 1),
        makeCapture('b', 'two', 1),
        makeCapture('c', 'one', 2),
      ];
      const groups = makeCaptureOptions(rows, rows[1], getRunLabel);
      expect(groups.map(({ title, options }) => [title, options.map(({ key }) => key)])).toEqual([
        ['one', ['a', 'c']],
        ['two', ['b']],
      ]);
      expect(groups.flatMap(({ options }) => options).find(({ selected }) => selected)?.key).toBe(
        'b',
      );
    });
  });

  describe('percentages', () => {
    it.each([
      [0, '0%'],
      [0.868, '86.8%'],
      [0.0004, '< 0.1%'],
      [0.9999, '> 99.9%'],
      [1, '100%'],
    ])('%d is %s', (share, text) => expect(formatPercent(share)).toBe(text));
  });

  it('formats rates per second', () => {
    expect(formatFlopRate(4.59e11, 1)).toBe('459 TFLOP/s');
    expect(formatFlopRate(5, 10)).toBe('500 FLOP/s');
    expect(formatBandwidth(3.4e9, 1)).toBe('3.4 TB/s');
  });

  it('removes the prefix of compiled functions', () => {
    expect(shortenOpName('StatefulPartitionedCall/flowers/conv2d/Relu')).toBe(
      'flowers/conv2d/Relu',
    );
    expect(shortenOpName('aten::mm (2x3, 3x4)')).toBe('aten::mm (2x3, 3x4)');
    expect(shortenOpName('StatefulPartitionedCall')).toBe('StatefulPartitionedCall');
  });

  describe('the short name of a kernel', () => {
    it('has no types and namespaces', () => {
      expect(
        shortenKernelName(
          'void at::native::vectorized_elementwise_kernel<8, at::native::bfloat16_copy_kernel_cuda(' +
            'at::TensorIteratorBase&)::{lambda(float)#1}, std::array<char*, 2ul> >(int)',
        ),
      ).toBe('vectorized_elementwise_kernel · bfloat16_copy_kernel_cuda');
      expect(
        shortenKernelName(
          'void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::X>',
        ),
      ).toBe('multi_tensor_apply_kernel');
      expect(shortenKernelName('void splitKreduce(float*, int)')).toBe('splitKreduce');
      expect(
        shortenKernelName(
          'void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_32x32_128x2_tn_align2>' +
            '(cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_32x32_128x2_tn_align2::Params)',
        ),
      ).toBe('cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_32x32_128x2_tn_align2');
    });

    it('is the full name without template arguments', () => {
      const name = 'nvjet_sm90_tst_64x64_64x13_2x1_v_bz_bias_TNT';
      expect(shortenKernelName(name)).toBe(name);
      expect(shortenKernelName('')).toBe('');
    });
  });

  describe('profile commands', () => {
    it('exports a row per step', () => {
      const input = Float64Array.of(0.5, 0.25);
      const table = makeStepsTable({
        names: ['train 1', 'a, "quoted" one'],
        start_ms: Float64Array.of(0, 2),
        total_ms: Float64Array.of(1.5, 2),
        parts: [
          {
            name: 'input',
            label: { code: '', text: 'input', args: {} },
            exclusive_ms: input,
            inclusive_ms: input,
          },
        ],
        other_ms: Float64Array.of(1, 1.75),
        averaged: [0, 2],
      });
      expect(toCsv(table)).toBe(
        'step,start_ms,total_ms,input_ms,other_ms\n' +
          'train 1,0,1.5,0.5,1\n' +
          '"a, ""quoted"" one",2,2,0.25,1.75\n',
      );
    });
  });

  describe('sql result', () => {
    const result: QueryResult = {
      columns: [
        { name: 'event', type: 'number', values: [7, 7, null] },
        { name: 'name', type: 'text', values: ['a, "b"', 'c', null] },
        { name: 'start_ms', type: 'number', values: [1, 2.5, 3] },
        { name: 'big', type: 'number', values: ['9007199254740993', 1, 2] },
        { name: 'event', type: 'bool', values: [true, false, null] },
      ],
      has_more: false,
    };

    describe('results of queries', () => {
      const rows = makeSqlRows(result);

      it('are rows of cells', () => {
        expect(rows.map(({ cells }) => cells[2])).toEqual([1, 2.5, 3]);
        expect(makeSqlRows({ columns: [], has_more: false })).toEqual([]);
      });

      it('link to the event, or else to the time', () => {
        const locate = makeLocator(result);
        expect(rows.map((row) => locate?.(row))).toEqual([
          { event: 7 },
          { event: 7 },
          { span: [2999, 3001] },
        ]);
        expect(makeLocator({ columns: result.columns.slice(1, 2), has_more: false })).toBeNull();
      });

      it('have places in the trace, each once', () => {
        expect(listPlaces(result)).toEqual([
          { event: 7, start: 2.5e9, end: 2.5e9 },
          { event: null, start: 3e9, end: 3e9 },
        ]);
        const steps = {
          columns: [
            { name: 'start_ms', type: 'number' as const, values: [1, 2, null] },
            { name: 'duration_ms', type: 'number' as const, values: [0.5, null, 1] },
          ],
          has_more: false,
        };
        expect(listPlaces(steps)).toEqual([
          { event: null, start: 1e9, end: 1.5e9 },
          { event: null, start: 2e9, end: 2e9 },
        ]);
        expect(listPlaces({ columns: result.columns.slice(1, 2), has_more: false })).toEqual([]);
      });

      it('have columns of any name', () => {
        const columns = makeSqlColumns(result, rows, true);
        expect(columns.map(({ key }) => key)).toEqual(['0', '1', '2', '3', '4']);
        expect(columns.map(({ text }) => text !== undefined)).toEqual([
          false,
          true,
          true,
          true,
          true,
        ]);
        expect(columns.every(({ width }) => width >= 72 && width <= 420)).toBe(true);
      });

      it('are exported in full', () => {
        expect(toCsv(makeSqlExport(result, rows)).split('\n')[1]).toBe(
          '7,"a, ""b""",1,9007199254740993,true',
        );
      });

      it('show numbers with their digits', () => {
        expect([1234567, 0.12345678, null, 'x', true].map(formatCell)).toEqual([
          '1,234,567',
          '0.123457',
          '',
          'x',
          'true',
        ]);
      });
    });
  });

  describe('static profile', () => {
    const MEMORY: CounterTrack = {
      kind: 'memory',
      name: 'GPU',
      process: '',
      peak: 9,
      low: 0,
      times: Float64Array.of(0, 10, 20, 30),
      values: Float64Array.of(0, 9, 4, 7),
    };

    async function readCounter(start: number, end: number) {
      const path = 'api/v1/profile/timeline?capture=a%2Fb';
      const contents = {
        read: (name: string) =>
          name === path
            ? Promise.resolve({ counters: { counters: [MEMORY] } })
            : Promise.reject(new Error(name)),
      } as unknown as ExportContents;
      const handle = profileHandlers['POST profile/timeline/counters'];
      const response = await handle?.({ capture: 'a/b', start, end, cells: 100 }, contents);
      const { times, values } = response?.counters[0] ?? MEMORY;
      return [[...times], [...values]];
    }

    it('returns the counters of a range, with the value at its start', async () => {
      expect(await readCounter(0, 100)).toEqual([[...MEMORY.times], [...MEMORY.values]]);
      expect(await readCounter(15, 30)).toEqual([
        [15, 20],
        [9, 4],
      ]);
      expect(await readCounter(40, 50)).toEqual([[40], [7]]);
    });
  });
});

describe('overview', () => {
  describe('step chart', () => {
    describe('columns of the step chart', () => {
      it('show one step each if they fit', () => {
        const columns = layoutStepColumns(Float64Array.of(5, 9, 7), 120);
        expect(columns.map(({ step }) => step)).toEqual([0, 1, 2]);
        expect(columns.map(({ left }) => left)).toEqual([0, 40, 80]);
      });

      it('have a maximum width', () =>
        expect(layoutStepColumns(Float64Array.of(5, 9), 900).map(({ left }) => left)).toEqual([
          0, 90,
        ]));

      it('show the longest of several steps', () => {
        const total = new Float64Array(1000).fill(5);
        total[501] = 80;
        const columns = layoutStepColumns(total, 300);
        expect(columns).toHaveLength(100);
        expect(columns.map(({ step }) => step)).toContain(501);
      });
    });

    describe('the axis of the step chart', () => {
      it('ends at the longest step', () =>
        expect(getMaxStepMs([Float64Array.of(4, 5, 6)])).toBe(6));

      it('cuts off outliers', () => {
        const total = new Float64Array(20).fill(10);
        total[0] = 900;
        expect(getMaxStepMs([total])).toBe(15);
      });
    });

    it('leaves out parts without time', () => {
      const part = (name: string, ...ms: number[]) => ({
        name,
        label: { code: '', text: name, args: {} },
        exclusive_ms: Float64Array.of(...ms),
        inclusive_ms: Float64Array.of(...ms),
      });
      const layers = makeStepLayers({
        names: ['1', '2'],
        start_ms: Float64Array.of(0, 5),
        total_ms: Float64Array.of(5, 5),
        parts: [part('input', 1, 0), part('output', 0, 0)],
        other_ms: Float64Array.of(0, 0),
        averaged: [0, 2],
      });
      expect(layers.map(({ name }) => name)).toEqual(['input']);
    });
  });

  describe('achieved rates', () => {
    function makeResponse(
      precisions: PrecisionRate[],
      peak_flops_per_s: number | null,
      device = 'NVIDIA H200',
    ): RooflineResponse {
      const isKnown = device === 'NVIDIA H200';
      return {
        device,
        roofs: isKnown ? [{ precision: 'fp32', flops_per_s: 67e12 }] : [],
        bytes_per_s: isKnown ? 4.8e12 : 0,
        is_estimate: false,
        names: [],
        types: [],
        counts: new Int32Array(),
        self_ms: new Float64Array(),
        flops: new Float64Array(),
        bytes: new Float64Array(),
        longest: new Int32Array(),
        steps: 1,
        utilization: {
          window_ms: 10,
          devices: 1,
          flops_per_s: precisions.reduce((sum, { flops_per_s }) => sum + flops_per_s, 0),
          bytes_per_s: 1.2e12,
          known_share: 1,
          precision: precisions[0]?.precision ?? 'unknown',
          peak_flops_per_s,
          peak_bytes_per_s: isKnown ? 4.8e12 : null,
          precisions,
        },
      };
    }

    const FP8 = { precision: 'fp8', flops_per_s: 989.5e12, peak_flops_per_s: 1979e12 } as const;
    const FP16 = { precision: 'fp16', flops_per_s: 98.9e12, peak_flops_per_s: 989e12 } as const;

    it('compares with the peak of the precision', () => {
      const [flops, bytes] = listAchievedRates(makeResponse([FP8], 1979e12));
      expect(flops?.peak).toBe('50% of 2 PFLOP/s (NVIDIA H200, 8-bit on tensor cores)');
      expect(flops?.parts).toEqual([]);
      expect(bytes?.peak).toBe('25% of 4.8 TB/s (NVIDIA H200)');
    });

    it('lists the shares of several precisions', () => {
      const [flops] = listAchievedRates(makeResponse([FP8, FP16], 1814e12));
      expect(flops?.peak).toContain('60% of');
      expect(flops?.parts).toHaveLength(2);
      expect(flops?.parts[1]).toMatch(/^16-bit on tensor cores: .*10% of 989 TFLOP\/s$/);
    });

    it('says why a peak is unknown', () => {
      const explain = (response: RooflineResponse) => listAchievedRates(response)[0]?.peak;
      const unknown = { ...FP8, peak_flops_per_s: null };
      expect(explain(makeResponse([unknown], null))).toContain(
        'no rate of NVIDIA H200 is known for 8-bit on tensor cores',
      );
      expect(explain(makeResponse([unknown, FP16], null))).toContain('8-bit');
      expect(explain(makeResponse([unknown], null, 'Some Device'))).toContain('Some Device');
      expect(explain(makeResponse([unknown], null, ''))).toContain('does not name');
      const untyped = { ...unknown, precision: 'unknown' } as const;
      expect(explain(makeResponse([FP16, untyped], null))).toContain('types');
    });
  });
});

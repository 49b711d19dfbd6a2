import * as m from '../catalog/shell';
import { importWithMessages } from '../i18n/load';
import type { DashboardModule } from '../plugin/context';
import {
  type BuiltInDashboard,
  createDashboardModule,
  type DashboardView,
} from '../plugin/registry';

/** The built-in dashboards. Tabs are ordered by group, and in a group as listed here. */
export const BUILT_IN: readonly BuiltInDashboard[] = [
  {
    name: 'scalars',
    title: m.dashboardScalars,
    group: 'metrics',
    example: `with tracklight.run("logs/run-1") as run:
    for step in range(1000):
        run.log({"train/loss": 1 / (step + 1)}, step)`,
    load: () => loadView('scalars', () => import('./scalars/View.svelte')),
  },
  {
    name: 'images',
    title: m.dashboardImages,
    group: 'media',
    example: `from tracklight import summary
with summary.create_file_writer("logs/run-1").as_default():
    summary.image("samples", pixels, step=0)  # [k, height, width, channels]`,
    load: () => loadView('images', () => import('./images/View.svelte')),
  },
  {
    name: 'audio',
    title: m.dashboardAudio,
    group: 'media',
    example: `from tracklight import summary
with summary.create_file_writer("logs/run-1").as_default():
    summary.audio("speech", clips, sample_rate=16_000, step=0)  # [k, frames, channels]`,
    load: () => loadView('audio', () => import('./audio/View.svelte')),
  },
  {
    name: 'text',
    title: m.dashboardText,
    group: 'media',
    example: `from tracklight import summary
with summary.create_file_writer("logs/run-1").as_default():
    summary.text("samples", "The **model** says: " + generate(), step=0)`,
    load: () => loadView('text', () => import('./text/View.svelte')),
  },
  {
    name: 'histograms',
    title: m.dashboardHistograms,
    group: 'model',
    example: `from tracklight import summary
with summary.create_file_writer("logs/run-1").as_default():
    summary.histogram("layer1/weights", weights, step=0)`,
    load: () =>
      loadView('histograms', () => import('./histograms/View.svelte'), { tab: 'histograms' }),
  },
  {
    name: 'distributions',
    title: m.dashboardDistributions,
    group: 'model',
    apiName: 'histograms',
    example: `from tracklight import summary
with summary.create_file_writer("logs/run-1").as_default():
    summary.histogram("layer1/weights", weights, step=0)`,
    load: () =>
      loadView('histograms', () => import('./histograms/View.svelte'), { tab: 'distributions' }),
  },
  {
    name: 'pr_curves',
    title: m.dashboardPrCurves,
    group: 'evaluation',
    example: `from tracklight import summary
with summary.create_file_writer("logs/run-1").as_default():
    summary.pr_curve("pr/cat", labels, predictions, step=0)  # scores from 0 to 1`,
    load: () => loadView('pr_curves', () => import('./pr_curves/View.svelte')),
  },
  {
    name: 'fairness',
    title: m.dashboardFairness,
    group: 'evaluation',
    example: `result = tracklight.fairness.evaluate(
    frame, label="approved", prediction="score", slices=["sex", ["sex", "region"]])
result.write("logs/run-1", step=epoch)`,
    load: () => loadView('fairness', () => import('./fairness/View.svelte')),
  },
  {
    name: 'what_if',
    title: m.dashboardWhatIf,
    group: 'evaluation',
    opensFiles: true,
    example: `tracklight.what_if(frame, model=classifier, label="income")`,
    prefetch: () => 'sessions',
    load: () => loadView('what_if', () => import('./what_if/View.svelte')),
  },
  {
    name: 'mesh',
    title: m.dashboardMesh,
    group: 'media',
    example: `from tracklight import summary
with summary.create_file_writer("logs/run-1").as_default():
    summary.mesh("scan", vertices, faces, colors, step=0)  # [k, n, 3] each`,
    load: () => loadView('mesh', () => import('./mesh/View.svelte')),
  },
  {
    name: 'custom_scalars',
    title: m.dashboardCustomScalars,
    group: 'metrics',
    isEditor: true,
    example: `from tracklight import summary
with summary.create_file_writer("logs/run-1").as_default():
    summary.custom_scalars({"Quality": {"Loss": ["Multiline", ["train/loss", "eval/loss"]]}})`,
    load: () => loadView('custom_scalars', () => import('./custom_scalars/View.svelte')),
  },
  {
    name: 'graphs',
    title: m.dashboardGraphs,
    group: 'model',
    example: `from tracklight.torch import SummaryWriter
with SummaryWriter("logs/run-1") as writer:
    writer.add_graph(model, example_input)`,
    prefetch: () => 'list',
    load: () => loadView('graphs', () => import('./graphs/View.svelte')),
  },
  {
    name: 'hparams',
    title: m.dashboardHparams,
    group: 'metrics',
    example: `with tracklight.run("logs/run-1", config={"lr": 0.001, "units": 64}) as run:
    run.log({"accuracy": 0.93}, step=1)`,
    prefetch: (query) =>
      /\bhp-(reduction|n|step|repeats)=/.test(query) ? null : 'sessions?reduction=last',
    load: () => loadView('hparams', () => import('./hparams/View.svelte')),
  },
  {
    name: 'projector',
    title: m.dashboardProjector,
    group: 'model',
    example: `from tracklight.torch import SummaryWriter
with SummaryWriter("logs/run-1") as writer:
    writer.add_embedding(vectors, metadata=words, tag="words")`,
    load: () => loadView('projector', () => import('./projector/View.svelte')),
  },
  {
    name: 'debugger',
    title: m.dashboardDebugger,
    group: 'model',
    example: [
      {
        framework: 'PyTorch',
        code: `from tracklight import debugger
with debugger.watch(model, "logs/run-1"):
    train(model)`,
      },
      {
        framework: 'JAX',
        code: `from tracklight import debugger
train_step = debugger.watch(train_step, "logs/run-1")
state, loss = train_step(state, batch)`,
      },
      {
        framework: 'Keras',
        code: `from tracklight import debugger
watcher = debugger.watch(model, "logs/run-1")
model.fit(x, y, callbacks=[watcher])`,
      },
      {
        framework: 'TensorFlow',
        code: `tf.debugging.experimental.enable_dump_debug_info(
    "logs/dump", tensor_debug_mode="FULL_HEALTH",
    circular_buffer_size=-1)`,
      },
    ],
    prefetch: () => 'sources',
    load: () => loadView('debugger', () => import('./debugger/View.svelte')),
  },
  {
    name: 'profile',
    title: m.dashboardProfile,
    group: 'performance',
    example: `with tracklight.profile("logs/run-1", steps=10) as profile:
    for batch in batches:
        profile.step()`,
    load: () => loadView('profile', () => import('./profile/View.svelte')),
  },
  {
    name: 'runs',
    title: m.dashboardRuns,
    group: 'metrics',
    isAlwaysActive: true,
    isFullWidth: true,
    load: () => loadView('run_table', () => import('./run_table/View.svelte')),
  },
  {
    name: 'overview',
    title: m.dashboardOverview,
    group: 'metrics',
    apiName: 'scalars',
    isAlwaysActive: true,
    load: () => loadView('overview', () => import('./overview/View.svelte')),
  },
];

/** Load the component of a dashboard after the texts of its namespace. */
async function loadView<const Props extends object = object>(
  namespace: string,
  importView: () => Promise<{ readonly default: DashboardView<Props> }>,
  props?: Props,
): Promise<DashboardModule> {
  const { default: View } = await importWithMessages(namespace, importView);
  return createDashboardModule(View, props);
}

import type { LoggingExample } from '../plugin/registry';

/** Code that logs data for a dashboard, shown while there is none. */
export const EXAMPLES = {
  scalars: `with tracklight.run("logs/run-1") as run:
    for step in range(1000):
        run.log({"train/loss": 1 / (step + 1)}, step)`,
  images: `from tracklight import summary
with summary.create_file_writer("logs/run-1").as_default():
    summary.image("samples", pixels, step=0)  # [k, height, width, channels]`,
  audio: `from tracklight import summary
with summary.create_file_writer("logs/run-1").as_default():
    summary.audio("speech", clips, sample_rate=16_000, step=0)  # [k, frames, channels]`,
  text: `from tracklight import summary
with summary.create_file_writer("logs/run-1").as_default():
    summary.text("samples", "The **model** says: " + generate(), step=0)`,
  histograms: `from tracklight import summary
with summary.create_file_writer("logs/run-1").as_default():
    summary.histogram("layer1/weights", weights, step=0)`,
  distributions: `from tracklight import summary
with summary.create_file_writer("logs/run-1").as_default():
    summary.histogram("layer1/weights", weights, step=0)`,
  pr_curves: `from tracklight import summary
with summary.create_file_writer("logs/run-1").as_default():
    summary.pr_curve("pr/cat", labels, predictions, step=0)  # scores from 0 to 1`,
  fairness: `result = tracklight.fairness.evaluate(
    frame, label="approved", prediction="score", slices=["sex", ["sex", "region"]])
result.write("logs/run-1", step=epoch)`,
  what_if: `tracklight.what_if(frame, model=classifier, label="income")`,
  mesh: `from tracklight import summary
with summary.create_file_writer("logs/run-1").as_default():
    summary.mesh("scan", vertices, faces, colors, step=0)  # [k, n, 3] each`,
  custom_scalars: `from tracklight import summary
with summary.create_file_writer("logs/run-1").as_default():
    summary.custom_scalars({"Quality": {"Loss": ["Multiline", ["train/loss", "eval/loss"]]}})`,
  graphs: `from tracklight.torch import SummaryWriter
with SummaryWriter("logs/run-1") as writer:
    writer.add_graph(model, example_input)`,
  hparams: `with tracklight.run("logs/run-1", config={"lr": 0.001, "units": 64}) as run:
    run.log({"accuracy": 0.93}, step=1)`,
  projector: `from tracklight.torch import SummaryWriter
with SummaryWriter("logs/run-1") as writer:
    writer.add_embedding(vectors, metadata=words, tag="words")`,
  debugger: [
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
  profile: `with tracklight.profile("logs/run-1", steps=10) as profile:
    for batch in batches:
        profile.step()`,
} satisfies Readonly<Record<string, LoggingExample>>;

export type ExampleName = keyof typeof EXAMPLES;

/** The few lines that write a first run into a log directory, for each way of training. */

const pathIn = (directory: string): string =>
  JSON.stringify(`${directory.replace(/\/+$/, '')}/run-1`);

const SNIPPETS: Record<string, (path: string) => string> = {
  Keras: (path) => `import tracklight.keras

board = tracklight.keras.TensorBoard(${path})
model.fit(x, y, epochs=10, callbacks=[board])`,
  PyTorch: (path) => `from tracklight.torch import SummaryWriter

with SummaryWriter(${path}) as writer:
    for step in range(1000):
        writer.add_scalar("train/loss", 1 / (step + 1), step)`,
  JAX: (path) => `import tracklight.jax
from tracklight import summary

with summary.create_file_writer(${path}).as_default():
    for step in range(1000):
        tracklight.jax.scalars({"train": {"loss": 1 / (step + 1)}}, step)`,
  Python: (path) => `import tracklight

with tracklight.run(${path}, config={"lr": 0.1}) as run:
    for step in range(1000):
        run.log({"train/loss": 1 / (step + 1)}, step)`,
};

export const FRAMEWORKS = Object.keys(SNIPPETS);

export function snippetFor(way: string, directory: string): string {
  return SNIPPETS[way]?.(pathIn(directory)) ?? '';
}

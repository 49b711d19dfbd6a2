/** The few lines that write a first run into a log directory, for each way of training. */

const pathIn = (directory: string): string =>
  JSON.stringify(`${directory.replace(/\/+$/, '')}/run-1`);

const WRITERS: Record<string, (path: string) => string> = {
  Keras: (path) => `import keras

board = keras.callbacks.TensorBoard(${path})
model.fit(x, y, epochs=10, callbacks=[board])`,
  PyTorch: (path) => `from torch.utils.tensorboard import SummaryWriter

with SummaryWriter(${path}) as writer:
    for step in range(1000):
        writer.add_scalar("train/loss", loss(step), step)`,
  JAX: (path) => `from flax.metrics.tensorboard import SummaryWriter

writer = SummaryWriter(${path})
for step in range(1000):
    writer.scalar("train/loss", loss(step), step)
writer.flush()`,
  Python: (path) => `from tensorboardX import SummaryWriter

with SummaryWriter(${path}) as writer:
    for step in range(1000):
        writer.add_scalar("train/loss", loss(step), step)`,
};

export const WAYS = Object.keys(WRITERS);

export function snippetFor(way: string, directory: string): string {
  return WRITERS[way]?.(pathIn(directory)) ?? '';
}

interface Example {
  readonly title: string;
  readonly code: string;
}

/** How a capture is made, by framework. */
export const EXAMPLES: readonly [Example, ...Example[]] = [
  {
    title: 'Keras',
    code: `from tracklight.keras import TensorBoard
model.fit(data, callbacks=[TensorBoard("logs/run-1", profile_batch=(10, 20))])`,
  },
  {
    title: 'PyTorch',
    code: `with tracklight.profile("logs/run-1", steps=10) as profile:
    for batch in loader:
        train(batch)
        profile.step()`,
  },
  {
    title: 'JAX',
    code: `with tracklight.profile("logs/run-1", steps=10) as profile:
    for batch in batches:
        state = train_step(state, batch)
        profile.step()`,
  },
  {
    title: 'Python',
    code: `with tracklight.profile("logs/run-1", steps=10) as profile:
    for item in items:
        work(item)
        profile.step()`,
  },
];

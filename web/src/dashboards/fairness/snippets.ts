/** Code that writes evaluations, for the empty state. */
export const SNIPPETS = {
  loop: `import tracklight

result = tracklight.fairness.evaluate(
    frame, label="approved", prediction="score", slices=["sex", ["sex", "region"]]
)
result.write("logs/run-1", step=epoch)`,
  keras: `callback = tracklight.keras.Fairness("logs/run-1", x_test, y_test, people, ["sex"])
model.fit(x, y, epochs=5, callbacks=[callback])`,
  tfma: `eval_result = tfma.run_model_analysis(..., output_path="logs/evaluation")`,
} as const;

import { expect, test } from 'vitest';

import { audioPythonCode } from './audio-actions';

test('the same clips are read in Python', () => {
  const roots = [{ name: '', path: '/logs' }];
  expect(audioPythonCode({ roots, runs: ['a', 'b"c'], tag: 'voice' })).toBe(
    `import tracklight

log = tracklight.open("/logs")
for run in ["a", "b\\"c"]:
    clips = log.audio(run, "voice")  # clips.step: all steps
    sounds = clips[-1].to_arrays()  # each [frames, channels] in [-1, 1]; WAV only
`,
  );
});

// One browser and one core at a time: two cores are all a machine may have, and waits are on levels with a limit.
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['journeys/*.test.mjs'],
    testTimeout: 240_000,
    hookTimeout: 120_000,
    fileParallelism: false,
    reporters: ['verbose'],
  },
});

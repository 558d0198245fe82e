// All scenarios in the order of the table. `sample` is what CI runs of each: every scenario somewhere.
import { BUDGETS } from './budgets.mjs';
import { DECISIONS } from './decisions.mjs';
import { INTERRUPTIONS } from './interruptions.mjs';
import { RESULTS } from './results.mjs';
import { WAITING } from './waiting.mjs';

export const SCENARIOS = [...RESULTS, ...WAITING, ...DECISIONS, ...INTERRUPTIONS, ...BUDGETS];

// The core is killed or restarted, or the server behind it ends: a program that is not told goes on.
//
// Long work is a task of rmcp's server here, which outlives the core. After an error the model calls again, as models do;
// what is proven is that this finds the first call and never makes a second one.
import { call, follow } from '../model/model.mjs';
import { must, pause, until } from '../stage.mjs';
import { SHORT } from './waiting.mjs';

// Its result is no JSON: over stdio Gemini CLI reads a text that is JSON as structured content, and refuses a number there.
const SUM = { name: 'tasks__slow_sum', args: { a: 40, b: 2, millis: 9_000, unit: 'bees' } };
/** The work goes on this long before the core is killed: its task is recorded by then. */
const BEFORE_KILL_MS = 2_000;
/** A model needs as long to think before it calls again. */
const RETRY_MS = 2_000;
/** From the restart of the core to the result, the rest of the work included. Findings: the programs took 71 to 240 s. */
const RESUMED_LIMIT_MS = 60_000;

const again = { repeats: SUM, unless: /42 bees|hdl_/, times: 6, everyMs: RETRY_MS };

/** How many tasks of this tool there are: more than one is a call that was made twice. */
async function tasksOf(stage, tool) {
  return (await stage.tasks()).filter((task) => task.tool === tool).length;
}

async function hasResumed(stage, model) {
  must(/42 bees/.test(model.results.at(-1)?.text), 'the model has the result in the end');
  const made = await tasksOf(stage, 'slow_sum');
  must(made === 1, `the tool was called once, not ${made} times`);
}

export const INTERRUPTIONS = [
  {
    word: 'killed-before-a-call',
    sample: ['gemini-cli/http'],
    sentence: 'After kill -9 of the core between two turns, the next call is answered as if nothing had been.',
    async play(stage) {
      const { results } = await stage.play([call('lab__sum', { a: 1, b: 2 }), () => stage.killCore(), call('lab__sum', { a: 3, b: 4 }), {
        repeats: { name: 'lab__sum', args: { a: 3, b: 4 } }, unless: /the sum is/, times: 1,
      }]);
      must(results.at(-1).text.includes('the sum is 7'), 'the second sum is there');
      must(results.length === 2, 'without a failed turn');
    },
  },
  {
    word: 'killed-during-a-call',
    sample: ['claude-code/http', 'opencode/stdio'],
    sentence: 'A call in flight at kill -9 of the core brings its result after the restart, and is made once.',
    async play(stage) {
      await stage.addTasks();
      let restarted = 0;
      const model = await stage.playWhile([{ calls: [SUM] }, again, follow()], async () => {
        await stage.task('slow_sum', 'running');
        await pause(BEFORE_KILL_MS);
        await stage.killCore();
        restarted = Date.now();
      }, { limitMs: 2 * RESUMED_LIMIT_MS });
      await hasResumed(stage, model);
      const took = model.turns.at(-1).at - restarted;
      must(took < RESUMED_LIMIT_MS, `within ${RESUMED_LIMIT_MS / 1_000} s after the restart, not ${Math.round(took / 1_000)} s`);
    },
  },
  {
    word: 'killed-after-a-handle',
    sample: ['codex/stdio'],
    sentence: 'A handle that the model read before kill -9 of the core is good after the restart.',
    options: { policy: { gateway_call_limit_ceiling: '3s' }, timeoutMs: SHORT.timeoutMs },
    async play(stage) {
      await stage.addTasks();
      const kill = async (model) => {
        await until('the model has its handle', () => model.results.length > 0);
        await stage.killCore();
      };
      const model = await stage.play([{ calls: [SUM] }, kill, follow(20)]);
      must(/hdl_/.test(model.results[0].text), 'the first answer is a handle');
      await hasResumed(stage, model);
    },
  },
  {
    word: 'restarted-between-turns',
    sample: ['codex/http'],
    sentence: 'An orderly restart of the core between two turns is not noticed.',
    async play(stage) {
      const restart = async () => {
        await stage.core.kill('SIGTERM');
        await stage.restartCore();
      };
      const { results } = await stage.play([call('lab__sum', { a: 1, b: 2 }), restart, call('lab__sum', { a: 3, b: 4 })]);
      must(results.at(-1).text.includes('the sum is 7'), 'the second sum is there');
    },
  },
  {
    word: 'server-ended',
    sample: ['claude-code/http'],
    sentence: 'When the server ends in mid-call the model reads so within seconds, and calls it again once it is back.',
    async play(stage) {
      const back = async () => {
        await stage.lab.start();
        await until('the server is up', async () => (await stage.command('servers', 'show', 'lab')).health?.kind === 'up');
      };
      let endedAt = 0;
      const model = await stage.playWhile([call('lab__work', { seconds: 300 }), back, call('lab__sum', { a: 3, b: 4 })], async () => {
        await stage.task('work', 'running');
        endedAt = Date.now();
        await stage.lab.end();
      });
      const [first, last] = model.results;
      const took = model.turns[1].at - endedAt;
      must(took < 30_000, `the model reads it within 30 s, not ${Math.round(took / 1_000)} s`);
      must(/server|connection|lost|unconfirmed|lab/i.test(first.text), 'it reads that the server is the reason');
      must(last.text.includes('the sum is 7'), 'and the server answers again when it is back');
    },
  },
];

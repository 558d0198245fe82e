// Calls that last longer than their program waits, and calls that wait for a person.
//
// The core is told to answer within a few seconds, and the program to wait a little longer, so that "twice its timeout"
// takes half a minute and not half an hour. What the model does next it reads in the words of each result.
import { call, follow } from '../model/model.mjs';
import { must, pause } from '../stage.mjs';

/** How long the core holds a call here, and the program's own timeout above it. */
const HELD_S = 7;
const TIMEOUT_S = 12;
const LONG_S = 2 * TIMEOUT_S;
/** So many equal calls are a loop to Gemini CLI; work that is waited for more often, at a second each and what a turn takes. */
const LOOP = 5;
const MANY_S = 16;
/** No model repeats a call faster. */
const THOUGHT_MS = 1_000;
export const SHORT = { policy: { gateway_call_limit_ceiling: `${HELD_S}s` }, timeoutMs: TIMEOUT_S * 1_000 };

async function outlasts(stage, tool, expected) {
  const model = await stage.play([call(`lab__${tool}`, { seconds: LONG_S }), follow()]);
  const { results } = model;
  must(results.at(-1).text.includes(expected), 'the model has the result in the end');
  must(stage.lab.runs[tool] === 1, `the tool ran once, not ${stage.lab.runs[tool]} times`);
  must(results.every(({ isError }) => !isError), 'nothing on the way is an error');
  const most = Math.ceil(LONG_S / HELD_S);
  must(results.length <= most, `at most ${most} turns, not ${results.length}`);
}

export const WAITING = [
  {
    word: 'twice-its-timeout',
    sample: ['claude-code/stdio'],
    sentence: 'A call of twice the program\'s timeout brings its result, with one more turn for each timeout.',
    options: SHORT,
    play: (stage) => outlasts(stage, 'work', `worked for ${LONG_S} s`),
  },
  {
    word: 'twice-with-schema',
    sample: ['codex/http', 'opencode/stdio'],
    sentence: 'The same holds for a tool with an output schema: its handle is no failure.',
    options: SHORT,
    play: (stage) => outlasts(stage, 'survey', 'counted 41000 bees'),
  },
  {
    word: 'many-waits',
    sample: ['gemini-cli/http'],
    sentence: 'A task that is waited for many times is no loop to the program.',
    options: { policy: { gateway_call_limit_ceiling: '1s' }, timeoutMs: TIMEOUT_S * 1_000 },
    async play(stage) {
      const { results } = await stage.play([call('lab__work', { seconds: MANY_S }), follow()]);
      must(results.at(-1).text.includes(`worked for ${MANY_S} s`), 'the model has the result in the end');
      must(results.length > LOOP + 1, `it was waited for more than ${LOOP} times, not ${results.length - 1}`);
      must(stage.lab.runs.work === 1, 'the tool ran once');
    },
  },
  {
    word: 'program-gives-up',
    sample: ['claude-code/http'],
    sentence: 'A call that its program gave up is joined when the model repeats it: the tool runs once.',
    options: { timeoutMs: 5_000 },
    async play(stage) {
      const work = { seconds: 9 };
      const again = { repeats: { name: 'lab__work', args: work }, unless: /worked for|hdl_/, times: 3, everyMs: THOUGHT_MS };
      const { results } = await stage.play([call('lab__work', work), again, follow()]);
      must(stage.lab.runs.work === 1, `the tool ran once, not ${stage.lab.runs.work} times`);
      must(results.at(-1).text.includes('worked for 9 s'), 'the model has the result in the end');
    },
  },
  {
    word: 'question-early',
    sample: ['gemini-cli/http'],
    sentence: 'A question that a person answers at once is part of one call.',
    async play(stage) {
      const { results } = await stage.playWhile([call('lab__ask')], () => answer(stage, 'Ada'));
      must(results.length === 1 && results[0].text.includes('accept: Ada'), 'one result, with the answer');
    },
  },
  {
    word: 'question-late',
    sample: ['codex/stdio'],
    sentence: 'A question that a person answers late brings its result to the same task.',
    options: SHORT,
    async play(stage) {
      const { results } = await stage.playWhile([call('lab__ask'), follow()], async () => {
        await stage.task('ask', 'waiting');
        await pause((HELD_S + 3) * 1_000);
        await answer(stage, 'Ada');
      });
      must(results.length > 1, 'the model had to wait');
      must(/person|people|question|answer/i.test(results[0].text), 'and read that a person is asked');
      must(results.at(-1).text.includes('accept: Ada'), 'the model has the result in the end');
      must(stage.lab.runs.ask === 1, 'the tool ran once');
    },
  },
];

async function answer(stage, name) {
  const { id } = await stage.task('ask', 'waiting');
  await stage.command('tasks', 'answer', id, '--accept', JSON.stringify({ name }));
}

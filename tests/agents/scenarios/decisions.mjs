// What a person decides about a running task: what the model reads of it, and what it does then.
import { call, follow } from '../model/model.mjs';
import { must, pause, until } from '../stage.mjs';
import { SHORT } from './waiting.mjs';

/** Longer than any of these scenarios: the task ends because somebody ends it. */
const ENDLESS = { seconds: 300 };
/** A model that read that its access is gone, or a program that noticed by itself, ends within this. */
const REVOKED_LIMIT_MS = 45_000;
const DAYS = 1_500;

export const DECISIONS = [
  {
    word: 'held-result-in-parts',
    sample: ['gemini-cli/stdio'],
    sentence: 'A result that is held back reaches the model in parts, to its last line.',
    async play(stage) {
      await stage.command('rules', 'set', '--agent', 'bee', '--result-tokens', '2k:hold');
      const { results } = await stage.play([call('lab__diary', { days: DAYS }), follow(60)]);
      const read = results.map(({ text }) => text).join('\n');
      must(read.includes('the end of the diary'), 'the model comes to the end');
      for (const day of [0, DAYS / 3, DAYS / 2, DAYS - 1]) must(read.includes(`day ${day}: `), `it read day ${day}`);
      must(stage.lab.runs.diary === 1, 'the tool ran once');
    },
  },
  {
    word: 'cancelled-by-a-person',
    sample: ['claude-code/http', 'gemini-cli/stdio'],
    sentence: 'A model whose call a person cancels reads who did it and why, and that it must not call again.',
    async play(stage) {
      const { results } = await stage.playWhile([call('lab__work', ENDLESS)], async () => {
        const { id } = await stage.task('work', 'running');
        await stage.command('tasks', 'cancel', id, '--reason', 'the hive is closed', '--yes');
      });
      told(results, /cancel/i);
      must(results[0].text.includes('the hive is closed'), 'the model reads why');
    },
  },
  {
    word: 'cancelled-while-waiting',
    sample: ['codex/http'],
    sentence: 'The same holds while the model waits for the task.',
    options: SHORT,
    async play(stage) {
      const { results } = await stage.playWhile([call('lab__work', ENDLESS), follow()], async () => {
        const { id } = await stage.task('work', 'running');
        await until('the model waits', () => stage.model.results.length > 0);
        await stage.command('tasks', 'cancel', id, '--reason', 'the hive is closed', '--yes');
      });
      told(results, /cancel/i);
      must(results.at(-1).text.includes('the hive is closed'), 'the model reads why');
    },
  },
  {
    word: 'handle-revoked',
    sample: ['claude-code/stdio', 'opencode/http'],
    sentence: 'A model whose task is taken away reads that a person did it, and not that there is no such task.',
    async play(stage) {
      const { results } = await stage.playWhile([call('lab__work', ENDLESS)], async () => {
        const { id } = await stage.task('work', 'running');
        await stage.command('tasks', 'revoke', id, '--reason', 'the hive is closed');
      });
      told(results, /revoke|taken|withdr[ae]w|took/i);
    },
  },
  {
    word: 'agent-revoked',
    sample: ['codex/http'],
    sentence: 'A program whose access is taken away ends its conversation, and its model read why.',
    async play(stage) {
      const { model, ended } = await stage.begin([call('lab__work', ENDLESS), call('lab__sum', { a: 1, b: 1 })]);
      await stage.task('work', 'running');
      await stage.command('agents', 'revoke', 'bee', '--reason', 'the hive is closed', '--yes');
      const first = await Promise.race([ended.then(() => 'ended'), pause(REVOKED_LIMIT_MS).then(() => 'late')]);
      must(first === 'ended', `the program ends within ${REVOKED_LIMIT_MS / 1_000} s`);
      must(model.results.length > 0, 'the model read an answer to its call');
      must(/revoke|access|authori[sz]|token|permission/i.test(model.results[0].text), 'which says that its access is gone');
      must(!stage.lab.runs.sum, 'and nothing was called after that');
    },
  },
];

/** The last result says what happened and that a person wanted it, in an ordinary result, and forbids a repetition. */
function told(results, what) {
  const { text, isError } = results.at(-1);
  must(what.test(text), 'the model reads what happened');
  must(/person|people|user|somebody|someone/i.test(text), 'it reads that a person did it');
  must(/not (repeat|call|try|retry|start)|do not/i.test(text), 'it reads that it must not call again');
  must(!isError, 'and it is an ordinary result');
}

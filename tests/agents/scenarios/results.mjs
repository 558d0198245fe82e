// Calls that end while their program waits: what the model reads of them.
import { call, calls } from '../model/model.mjs';
import { must } from '../stage.mjs';

/** Calls of one turn; more than any of the programs is known to send at once. */
const PARALLEL = 10;

export const RESULTS = [
  {
    word: 'quick-call',
    sample: ['opencode/http', 'gemini-cli/stdio'],
    sentence: 'The model reads the result of a quick call as the server said it.',
    async play(stage) {
      const { results } = await stage.play([call('lab__sum', { a: 40, b: 2 })]);
      must(results.length === 1 && results[0].text.includes('the sum is 42'), 'the model reads the sum');
      must(!results[0].isError, 'and no error');
    },
  },
  {
    word: 'tool-error',
    sample: ['codex/stdio'],
    sentence: 'The model reads the words of a tool that failed, marked as a failure.',
    async play(stage) {
      const { results } = await stage.play([call('lab__fail')]);
      must(results[0].text.includes('there is no such bee'), 'the model reads why');
      // Codex passes the words alone.
      must(results[0].isError || stage.program.word === 'codex', 'and that it is an error');
    },
  },
  {
    word: 'text-and-structure',
    sample: ['opencode/stdio', 'claude-code/http'],
    sentence: 'The model reads the same lines whether its program shows text or structured content.',
    async play(stage) {
      const { results } = await stage.play([call('lab__report')]);
      for (const line of ['hives: 3', 'bees: 41000', 'honey: 12 kg']) {
        must(results[0].text.includes(line), `the model reads \`${line}\``);
      }
    },
  },
  {
    word: 'call-of-20-s',
    sample: ['claude-code/stdio'],
    sentence: 'A call of 20 s is one turn of the model.',
    async play(stage) {
      const { results } = await stage.play([call('lab__work', { seconds: 20 })]);
      must(results.length === 1 && results[0].text.includes('worked for 20 s'), 'one result, which is the tool\'s');
    },
  },
  {
    word: 'ten-parallel-calls',
    sample: ['codex/http'],
    sentence: 'Ten calls of one turn bring ten answers, each to its own call.',
    async play(stage) {
      const names = Array.from({ length: PARALLEL }, (_, nth) => `bee ${nth}`);
      const { results } = await stage.play([calls(names.map((name) => ({ name: 'lab__work', args: { seconds: 1, name } })))]);
      must(results.length === PARALLEL, `ten results, not ${results.length}`);
      for (const { of, text } of results) must(text.includes(`as ${of.args.name}`), `\`${of.args.name}\` got its own answer`);
      must(stage.lab.runs.work === PARALLEL, 'and the tool ran ten times');
    },
  },
  {
    word: 'tool-list-changed',
    sample: ['claude-code/http', 'gemini-cli/stdio'],
    sentence: 'A tool that a server adds during a conversation can be called in the next turn.',
    async play(stage) {
      const script = [call('lab__grow'), () => stage.settled(), call('lab__sum', { a: 1, b: 1 }), call('lab__harvest')];
      const { results, turns } = await stage.play(script);
      must(results[1].text.includes('the sum is 2'), 'the tools that were there go on');
      // Codex reads the list when a conversation begins, and not again; so it does with a server of its own.
      if (stage.program.word === 'codex') return;
      must(turns.at(-1).tools.some(({ name }) => name.endsWith('lab__harvest')), 'the program tells its model of the new tool');
      must(results.at(-1).text.includes('harvested 12 kg'), 'the model calls it');
    },
  },
];

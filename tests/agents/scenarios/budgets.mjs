// What `taskwarden budget` says stands in the window, against what stands in the request that the model received.
//
// Requests are counted with the tokenizer of the GPT families, which only Codex's model has; the others are estimated by
// the core, so both sides may differ by the bound below. A figure of what was passed instead of what is shown is wrong by
// a factor of five and more. A core that has no figure of the window yet (ruling 44) is only measured.
import { Tiktoken } from 'js-tiktoken/lite';
import o200k from 'js-tiktoken/ranks/o200k_base';
import { diary } from '../lab.mjs';
import { call } from '../model/model.mjs';
import { must } from '../stage.mjs';

/** About 60,000 tokens: above what any of the programs shows its model of one result. */
const LONG_DAYS = 3_800;
/** Of text below every cap. */
const SHORT_DAYS = 150;
/** By so much may an estimate and a count differ, whichever is larger; the calibration of the scale allows 30 %. */
const FACTOR = 1.4;
/** Words that programs put around a result, and ours. */
const SLACK = 400;
const MODELS = { 'claude-code': 'claude-sonnet-4-5', codex: 'gpt-5', 'gemini-cli': 'gemini-2.5-flash', opencode: 'claude-sonnet-4-5' };

const encoder = new Tiktoken(o200k);
const count = (text) => encoder.encode(text, 'all').length;

/** What the budget says of some sources, in the window and passed. */
function said(budget, ...sources) {
  const parts = budget.now.sources.filter(({ source }) => sources.includes(source));
  const sum = (name) => parts.reduce((all, part) => all + (part[name] ?? 0), 0);
  const hasWindow = budget.program !== undefined;
  return { inWindow: hasWindow ? sum('tokens') : null, passed: hasWindow ? sum('passed') : sum('tokens') };
}

function agree(what, claimed, received) {
  if (claimed === null) return;
  const isFair = claimed <= received * FACTOR + SLACK && received <= claimed * FACTOR + SLACK;
  must(isFair, `of ${what}, ${claimed} tokens are said to be in the window, and ${received} stood in the request`);
}

async function measure(stage, script) {
  await stage.command('budget', 'set', 'bee', '--model', MODELS[stage.program.word]).catch(() => null);
  const model = await stage.play(script);
  const { budget } = await stage.command('budget', 'bee');
  const stated = model.turns.at(-1).tools.filter(({ name, isDeferred }) => !isDeferred && /(^|_)(lab__|tasks_(wait|result|list|cancel)$)/.test(name));
  const definitions = { ...said(budget, 'tools', 'ownTools'), received: count(stated.map((tool) => JSON.stringify(tool.stated)).join('\n')) };
  const results = { ...said(budget, 'results', 'handles'), received: count(model.results.map(({ text }) => text).join('\n')) };
  return { model, definitions, results };
}

const figures = (name, { inWindow, passed, received }) => ({
  [`${name}Passed`]: passed, [`${name}InWindow`]: inWindow, [`${name}Received`]: received,
});

export const BUDGETS = [
  {
    word: 'budget-of-short-results',
    sample: ['gemini-cli/http'],
    sentence: 'Definitions and short results are counted as they stand in the request.',
    async play(stage) {
      const { definitions, results } = await measure(stage, [call('lab__sum', { a: 1, b: 2 }), call('lab__report'), call('lab__diary', { days: SHORT_DAYS })]);
      agree('definitions', definitions.inWindow, definitions.received);
      agree('results', results.inWindow, results.received);
      return { ...figures('definitions', definitions), ...figures('results', results) };
    },
  },
  {
    word: 'budget-of-a-long-result',
    sample: ['claude-code/http', 'codex/stdio'],
    sentence: 'A result that its program cuts is counted as the part that its model received.',
    async play(stage) {
      const { results } = await measure(stage, [call('lab__diary', { days: LONG_DAYS })]);
      agree('the result', results.inWindow, results.received);
      return { stated: count(diary(LONG_DAYS)), ...figures('results', results) };
    },
  },
];

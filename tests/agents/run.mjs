// The table: programs × transports × scenarios, as `cargo xtask torture agents` and the tests of CI run it.
//
// `node run.mjs [--sample] [--program WORD] [--transport http|stdio] [--scenario WORD] [--jobs N] [--json]`; program,
// transport and scenario may be given several times. Prints a line for each cell as it ends, and what the model read
// where one failed; the exit code is 1 when any failed. The sample has each scenario at least once.
import { parseArgs } from 'node:util';
import { PROGRAMS } from './programs.mjs';
import { SCENARIOS } from './scenarios/table.mjs';
import { Broken, Stage } from './stage.mjs';

const TRANSPORTS = ['http', 'stdio'];
const { values: wanted } = parseArgs({
  options: {
    sample: { type: 'boolean', default: false },
    jobs: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
    program: { type: 'string', multiple: true },
    transport: { type: 'string', multiple: true },
    scenario: { type: 'string', multiple: true },
  },
});

/** The cells to run, in the order of the table. */
function cells() {
  const is = (list, word) => list === undefined || list.includes(word);
  const all = SCENARIOS.flatMap((scenario) =>
    PROGRAMS.flatMap((program) => TRANSPORTS.map((transport) => ({ program, transport, scenario }))),
  );
  const chosen = all.filter(({ program, transport, scenario }) =>
    is(wanted.program, program.word) && is(wanted.transport, transport) && is(wanted.scenario, scenario.word)
    && (!wanted.sample || scenario.sample.includes(`${program.word}/${transport}`)));
  if (chosen.length === 0) throw new Error('no cell of the table is meant; see the first lines of run.mjs');
  return chosen;
}

async function play({ program, transport, scenario }) {
  const begun = Date.now();
  let failure = null;
  let report = '';
  let measured = null;
  let stage = null;
  try {
    stage = await Stage.set(program, transport, scenario.options);
    measured = (await scenario.play(stage)) ?? null;
  } catch (error) {
    failure = error instanceof Broken ? error.message : String(error.stack ?? error);
    report = stage?.report() ?? '';
  }
  await stage?.clear();
  const seconds = Math.round((Date.now() - begun) / 100) / 10;
  return { program: program.word, transport, scenario: scenario.word, seconds, failure, report, measured };
}

function print(cell, ended) {
  const { program, transport, scenario, seconds, failure, report, measured } = ended;
  const result = failure === null ? 'ok' : 'failed';
  if (wanted.json) {
    console.log(JSON.stringify({ campaign: 'agents', program, transport, scenario, seconds, result, ...measured }));
  } else {
    console.log(`${result.padEnd(6)} ${program} ${transport} ${scenario} (${seconds} s)${measured ? ` ${JSON.stringify(measured)}` : ''}`);
  }
  if (failure !== null) console.error(`${program} ${transport}: ${cell.scenario.sentence}\nNot so: ${failure}\n${report}\n`);
}

const waiting = cells();
const played = [];
async function work() {
  for (let cell = waiting.shift(); cell !== undefined; cell = waiting.shift()) {
    const ended = await play(cell);
    played.push(ended);
    print(cell, ended);
  }
}
await Promise.all(Array.from({ length: Number(wanted.jobs) }, work));
const failed = played.filter(({ failure }) => failure !== null).map((cell) => `${cell.program}/${cell.transport}/${cell.scenario}`);
if (failed.length > 0) console.error(`${failed.length} of ${played.length} failed: ${failed.sort().join(', ')}`);
process.exit(failed.length > 0 ? 1 : 0);

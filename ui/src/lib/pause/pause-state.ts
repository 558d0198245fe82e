/* What a pause says in a few sentences, and which of the waiting calls are sent. Pure. */
import type { Calls, PauseDto, WaitingCallDto } from "$lib/bindings";
import { ago } from "$lib/format/time";
import { controlToken } from "$lib/task/control-token";
import { APP } from "$lib/text/app";
import { pauseText as text } from "$lib/text/halt/pause";

/** What stands still, who wanted that, and what waits. */
export function pauseSentences(pause: PauseDto, now: number): readonly string[] {
  const { agent, server, processes } = pause;
  const said: string[] = [];
  if (agent !== null) said.push(text.paused(agent));
  if (agent !== null && pause.holdsResults) said.push(text.results);
  if (server !== null && processes?.goneAt !== undefined) said.push(text.gone(server, ago(processes.goneAt, now)));
  else if (server !== null) said.push(text.frozen(server, processes?.stopped ?? 0));
  if (processes !== null && processes.moving > 0) said.push(text.moving(processes.moving));
  if (processes !== null && processes.foreign > 0) said.push(text.foreign(processes.foreign));
  if (processes?.ranAt !== undefined) said.push(text.ran(ago(processes.ranAt, now)));
  if (pause.waiting > 0) said.push(text.waiting(pause.waiting));
  if (pause.waiting > 0 && pause.mustChoose) said.push(text.mustChoose(pause.waiting));
  const token = controlToken(pause.by);
  const who = token === null ? pause.by : APP.halt.control(token);
  said.push(text.by(who, ago(pause.since, now), pause.reason, server !== null));
  return said;
}

/** What is paused, as calls name it. */
export const subjectOf = (pause: PauseDto) =>
  pause.agent === null ? { server: pause.server } : { agent: pause.agent };

/** How a pause ends when these calls were unticked. */
export function endOf(
  pause: PauseDto,
  calls: readonly WaitingCallDto[],
  left: ReadonlySet<string>,
): Calls["pauses.end"][0] {
  const of = subjectOf(pause);
  if (left.size === 0) return { ...of, all: true };
  return { ...of, tasks: calls.filter((call) => !left.has(call.id)).map((call) => call.id) };
}

/* Rules as sentences. What a rule leaves to the default is said as well, so that the list is whole. Pure. */
import type { AgentFacts, RuleDto } from "$lib/bindings";
import { count } from "$lib/format/count";
import { duration } from "$lib/format/time";
import { agentDetailText } from "$lib/text/agent/detail";
import { alarmText } from "$lib/text/inbox/alarm";
import { timeLimitText } from "$lib/text/inbox/time-limit";

export interface RuleSentence {
  readonly key: string;
  readonly text: string;
  readonly note: string | null;
}

const text = agentDetailText.rules;

/** The rule of this agent; null while it has none. */
export function ruleOfAgent(rules: readonly RuleDto[], agent: AgentFacts): RuleDto | null {
  const isIts = ({ scope }: RuleDto) =>
    scope.kind === "agent" && (scope.agent === agent.id || scope.agent === agent.name);
  return rules.find(isIts) ?? null;
}

/** What happens with time and tokens: the limits that are set, and what holds for results that a program would cut. */
export function limitSentences(rule: RuleDto | null): readonly RuleSentence[] {
  const limits = (["result", "task", "window"] as const).flatMap((what): RuleSentence[] => {
    const limit =
      rule === null ? null : { result: rule.resultLimit, task: rule.taskLimit, window: rule.windowLimit }[what];
    return limit == null ? [] : [{ key: what, text: text[what](count(limit.tokens), text.then[limit.at]), note: null }];
  });
  const times = (["time", "progress"] as const).flatMap((what): RuleSentence[] => {
    const limit = rule === null ? null : { time: rule.timeLimit, progress: rule.progressLimit }[what];
    if (limit == null) return [];
    const said = timeLimitText.sentence[what](duration(limit.allowedMs), timeLimitText.sentence.then[limit.at]);
    return [{ key: what, text: said, note: null }];
  });
  const alarms = alarmSentences(rule);
  const cut = rule?.holdCut === false ? text.deliverCut : text.holdCut;
  return [...times, ...limits, ...alarms, { key: "cut", text: cut, note: null }];
}

function alarmSentences(rule: RuleDto | null): readonly RuleSentence[] {
  const { sameCalls, callsPerMinute, openCalls, at } = alarmText.sentence;
  const same = rule?.sameCallLimit;
  return [
    { key: "sameCalls", text: same == null ? null : sameCalls(same.count, duration(same.windowMs)) },
    { key: "perMinute", text: rule?.callsPerMinute == null ? null : callsPerMinute(rule.callsPerMinute) },
    { key: "atOnce", text: rule?.openCalls == null ? null : openCalls(rule.openCalls) },
    { key: "atAlarm", text: rule?.alarmAction == null ? null : at[rule.alarmAction] },
  ].flatMap(({ key, text }): RuleSentence[] => (text === null ? [] : [{ key, text, note: null }]));
}

/** What happens with its calls and their questions. `only`: nothing that the rule does not say itself. */
export function callSentences(rule: RuleDto | null, only = false): readonly RuleSentence[] {
  const found: RuleSentence[] = [];
  const add = (key: string, sentence: string, note: string | null = null) => found.push({ key, text: sentence, note });
  if (rule?.asked != null || !only) {
    const asked = rule?.asked ?? "people";
    const after = asked === "agentThenPeople" ? text.after(duration(rule?.peopleAfterMs ?? 0)) : null;
    add("asked", text.asked[asked], after);
  }
  if (rule?.repeat != null || !only) add("repeat", text.repeat[rule?.repeat ?? "join"], text.repeatNote);
  if (rule?.holdResults === true) add("review", text.review);
  if (rule?.promoteAfterMs != null) add("promote", text.promote(duration(rule.promoteAfterMs)));
  return found;
}

export interface OtherRule {
  readonly key: string;
  /** For what it holds. */
  readonly title: string;
  readonly server: string;
  readonly sentences: readonly string[];
}

/** Rules of servers and tools, which hold for the calls of every agent. */
export function otherRules(rules: readonly RuleDto[]): readonly OtherRule[] {
  return rules.flatMap((rule): OtherRule[] => {
    const { scope } = rule;
    if (scope.kind === "agent") return [];
    const limits = limitSentences(rule).filter(({ key }) => key !== "cut" || rule.holdCut != null);
    return [
      {
        key: JSON.stringify(scope),
        title: scope.kind === "server" ? text.anyTool(scope.server) : text.toolOf(scope.tool, scope.server),
        server: scope.server,
        sentences: [...callSentences(rule, true), ...limits].map((sentence) => sentence.text),
      },
    ];
  });
}

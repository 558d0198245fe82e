/* Messages for invalid fields. Wrong input is reported at once; missing input only after a try. */
import { serversText } from "$lib/text/servers";
import type { ValidatedDraft, Draft, Problem } from "./server-draft";

const text = serversText.problems;

export function nameProblem(checked: ValidatedDraft, tried: boolean): string | null {
  const found = checked.problems.find((one) => one.field === "name");
  return found === undefined || (found.why === "missing" && !tried) ? null : text.name[found.why];
}

export function urlProblem(checked: ValidatedDraft, tried: boolean): string | null {
  const found = checked.problems.find((one) => one.field === "url");
  // Half an address is not wrong yet.
  return found === undefined || (found.why !== "password" && !tried) ? null : text.url[found.why];
}

export function commandProblem(checked: ValidatedDraft, tried: boolean): string | null {
  const found = checked.problems.find((one): one is Extract<Problem, { field: "command" }> => one.field === "command");
  if (found === undefined) return null;
  const { why } = found;
  if (why === "missing") return tried ? text.command.missing : null;
  switch (why.kind) {
    case "openQuote":
      // While it is typed the other quote is still to come.
      return tried ? text.command.openQuote(why.quote, why.at) : null;
    case "openEscape":
      return tried ? text.command.openEscape : null;
    case "assignment":
      return text.command.assignment(why.name);
    case "lineBreak":
    case "tooLong":
      return text.command[why.kind];
    default:
      return why satisfies never;
  }
}

export function pairProblem(
  checked: ValidatedDraft,
  id: number,
  kind: Draft["kind"],
  tried: boolean,
): { readonly field: "name" | "value"; readonly message: string } | null {
  const found = checked.problems.find(
    (one): one is Extract<Problem, { field: "pair" }> => one.field === "pair" && one.id === id,
  );
  if (found === undefined || ((found.why === "name" || found.why === "value") && !tried)) return null;
  const message = found.why === "badName" && kind === "http" ? text.pair.badHeader : text.pair[found.why];
  return { field: found.why === "value" || found.why === "lineBreak" ? "value" : "name", message };
}

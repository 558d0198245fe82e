/* The sentence for each warning. Exhaustive by type. */
import { serversText } from "$lib/text/servers";
import type { Warning } from "./consent";

const text = serversText.warnings;

export function warningText(warning: Warning): string {
  switch (warning.kind) {
    case "secretArgument":
      return text.secretArgument(warning.numbers);
    case "secretEnv":
      return text.secretEnv(warning.names);
    case "secretQuery":
      return text.secretQuery(warning.names);
    case "shellSigns":
      return text.shellSigns(warning.signs);
    case "moreRights":
    case "deletes":
    case "network":
    case "runsFetched":
    case "ownScript":
    case "hidden":
      return text[warning.kind];
    case "fetches":
      return text.fetches(warning.program, warning.pinned);
    case "plainHttp":
      return text.plainHttp(warning.host, warning.withSecrets);
    case "lookalike":
      return text.lookalike(warning.host, warning.ascii);
    default:
      return warning satisfies never;
  }
}

/** What is only told, in the quiet tone. */
export function isMild(warning: Warning): boolean {
  return warning.kind === "fetches" && warning.pinned;
}

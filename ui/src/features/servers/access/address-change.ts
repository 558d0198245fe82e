/* What changes when a server is reached in another way, line by line. Pure. */
import type { AddressDto } from "$lib/bindings";
import { consentLines } from "$lib/consent/consent";
import { serversText } from "$lib/text/servers";

export interface ChangedLine {
  readonly sign: "−" | "+";
  readonly label: string;
  readonly text: string;
}

/** Lines that are only before or only after, the old before the new; secrets whose value is typed anew are named. */
export function changedLines(
  before: AddressDto,
  after: AddressDto,
  newSecrets: readonly string[],
): readonly ChangedLine[] {
  const [old, now] = [before, after].map((address) => consentLines(address, serversText.consent));
  const key = (line: { label: string; text: string }) => `${line.label}\u0000${line.text}`;
  const of = (lines: typeof old, others: typeof old, sign: ChangedLine["sign"]): ChangedLine[] => {
    const known = new Set((others ?? []).map(key));
    return (lines ?? []).filter((line) => !known.has(key(line))).map(({ label, text }) => ({ sign, label, text }));
  };
  const stored = new Set(before.kind === "http" ? before.secretHeaders : before.secretEnv);
  const replaced = newSecrets
    .filter((name) => stored.has(name))
    .map((name): ChangedLine => ({
      sign: "+",
      label: serversText.consent.secrets,
      text: serversText.change.newValue(name),
    }));
  return [...of(old, now, "−"), ...of(now, old, "+"), ...replaced];
}

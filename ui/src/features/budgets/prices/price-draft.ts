/* A price as it is typed: which fields the core would refuse, so that nothing is sent that cannot be. Pure. */
export interface PriceDraft {
  readonly model: string;
  readonly input: string;
  readonly output: string;
  readonly currency: string;
}

/** Digits with at most one point, six of them after it at most, up to a million: as the core reads it. */
export function isAmount(text: string): boolean {
  const typed = text.trim();
  if (!/^(\d+\.?\d*|\.\d+)$/.test(typed)) return false;
  const [, rest = ""] = typed.split(".");
  return rest.replace(/0+$/, "").length <= 6 && Number(typed) <= 1_000_000;
}

export const isCurrency = (text: string): boolean => /^[A-Za-z]{3}$/.test(text.trim());

export type PriceField = "input" | "output" | "currency";

/** The fields to correct, in the order of the form. */
export function badFields(draft: PriceDraft): readonly PriceField[] {
  return [
    ...(isAmount(draft.input) ? [] : (["input"] as const)),
    ...(isAmount(draft.output) ? [] : (["output"] as const)),
    ...(isCurrency(draft.currency) ? [] : (["currency"] as const)),
  ];
}

/* The state of a question, from the registry's record: who can do what with it now. Pure. */
import type { AnswerDto, InboxRow, RequestDto, TaskDto } from "$lib/bindings";

export type RequestStatus =
  /** It can be answered. */
  | { readonly kind: "open" }
  /** Our answer is held back and can be taken back until then. */
  | { readonly kind: "held"; readonly until: string; readonly answer: AnswerDto }
  /** On its way, or waiting for the other questions of its round. */
  | { readonly kind: "sending"; readonly answer: AnswerDto }
  | {
      readonly kind: "answered";
      readonly by: string;
      readonly at: string;
      readonly action: AnswerDto["action"];
      readonly isMine: boolean;
    }
  | { readonly kind: "refused"; readonly why: string | null; readonly answer: AnswerDto }
  | { readonly kind: "withdrawn"; readonly why: string | null };

export function requestOf(row: InboxRow, task: TaskDto | null): RequestDto | null {
  if (row.key === null || task === null) return null;
  return task.requests.find((one) => one.key === row.key) ?? null;
}

export function requestStatus(request: RequestDto, me: string | null, now: number): RequestStatus {
  const { answer } = request;
  if (request.state === "withdrawn") return { kind: "withdrawn", why: request.withdrawnWhy };
  if (request.state === "open" || answer === null) return { kind: "open" };
  if (answer.delivery === "refused") return { kind: "refused", why: answer.refusedWhy, answer };
  const isMine = answer.by === me;
  if (!isMine || request.state === "confirmed" || answer.delivery === "acknowledged")
    return { kind: "answered", by: answer.by, at: answer.at, action: answer.action, isMine };
  if (answer.delivery === "recorded" && answer.notBefore !== null && Date.parse(answer.notBefore) > now)
    return { kind: "held", until: answer.notBefore, answer };
  return { kind: "sending", answer };
}

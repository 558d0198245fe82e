import { expect, it } from "vitest";
import type { AnswerDto, RequestDto } from "$lib/bindings";
import { inboxText } from "$lib/text/inbox";
import { requestStatus } from "./request-state";

const NOW = Date.parse("2026-11-21T14:00:00.000Z");
const at = (ms: number) => new Date(NOW + ms).toISOString();
function asked(state: RequestDto["state"], answer: Partial<AnswerDto> | null = null): RequestDto {
  return {
    key: "k",
    kind: "form",
    message: "",
    state,
    openedAt: at(-9_000),
    withdrawnWhy: state === "withdrawn" ? "late" : null,
    secretFields: [],
    answer: answer && {
      action: "accept",
      by: "Mara",
      at: at(-1_000),
      delivery: "recorded",
      refusedWhy: null,
      notBefore: null,
      ...answer,
    },
  };
}
const kind = (request: RequestDto) => requestStatus(request, "Mara", NOW).kind;

it("an open question can be answered", () => expect(kind(asked("open"))).toBe("open"));
it("a held answer can be taken back until it leaves", () => {
  expect(kind(asked("answered", { notBefore: at(4_000) }))).toBe("held");
  expect(kind(asked("answered", { notBefore: at(-1) }))).toBe("sending");
  expect(
    kind(asked("answered", { notBefore: at(4_000), by: "Dana" })),
    "what another person holds back is not ours to take back",
  ).toBe("answered");
});
it("an answer on its way is not called sent", () =>
  expect(kind(asked("answered", { delivery: "sent" }))).toBe("sending"));
it("the first answer names who gave it and what it was", () => {
  const theirs = asked("confirmed", { action: "decline", by: "Dana", delivery: "acknowledged" });
  expect(requestStatus(theirs, "Mara", NOW)).toMatchObject({
    kind: "answered",
    by: "Dana",
    action: "decline",
    isMine: false,
  });
  expect(requestStatus(asked("confirmed", { delivery: "acknowledged" }), "Mara", NOW)).toMatchObject({
    kind: "answered",
    isMine: true,
  });
});
it("the footer says what was decided", () => {
  expect(inboxText.footer.answered("Dana", "decline", "2 s ago")).toBe("Dana declined to answer 2 s ago");
  expect(inboxText.footer.elsewhere("dismiss", "2 s ago")).toBe("You dismissed the question 2 s ago, elsewhere");
});
it("a refusal carries the server's reason", () =>
  expect(requestStatus(asked("answered", { delivery: "refused", refusedWhy: "closed" }), "Mara", NOW)).toMatchObject({
    kind: "refused",
    why: "closed",
  }));
it("a withdrawn question says why", () =>
  expect(requestStatus(asked("withdrawn"), "Mara", NOW)).toEqual({ kind: "withdrawn", why: "late" }));

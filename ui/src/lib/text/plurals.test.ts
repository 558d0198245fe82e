/* A number and the word behind it agree: every text that takes a number is rendered with one. */
import { expect, it } from "vitest";

type Fill = () => unknown;

/** What a parameter of a text may be; those that a text does not take make it throw, and are passed over. */
const FILLS: readonly Fill[] = [() => 1, () => "1", () => "≤ 1", () => ["Ada"], () => null, () => true, () => 7];
const COMBINATIONS_MAX = 5_000;

const NOUNS =
  "agents|answers|bytes|calls|changes|characters|days|entries|events|fields|files|hours|items|letters|lines|matches|" +
  "messages|minutes|models|pages|parts|polls|programs|questions|results|rows|rules|samples|seconds|servers|sessions|" +
  "steps|tasks|times|tokens|tools|values|windows";
/** "1 tasks", "1 open tasks", "1 of them were"; a name can be "1" too, and is followed by verbs. */
const WRONG = new RegExp(`(?<![\\d.,:/])\\b1 (?:(?:more|new|open|other|earlier|local) )?(?:${NOUNS})\\b`);
/** "Rows 1 to 1 are" is not asked: the text has a sentence of its own for one row. What stands after "of" is a name. */
const WRONG_VERB = /(?<![\d.,:/]|to |to ≤ |of |of ≤ )\b1 (?:more |new |open |other )?(?:are|were|have)\b/;

function* texts(value: unknown, path: string): Generator<readonly [string, (...given: unknown[]) => unknown]> {
  if (typeof value === "function") yield [path, value as (...given: unknown[]) => unknown];
  else if (typeof value === "object" && value !== null)
    for (const [key, part] of Object.entries(value)) yield* texts(part, `${path}.${key}`);
}

function* filled(parameters: number): Generator<unknown[]> {
  const all = Math.min(FILLS.length ** parameters, COMBINATIONS_MAX);
  for (let at = 0; at < all; at += 1) {
    let rest = at;
    yield Array.from({ length: parameters }, () => {
      const fill = FILLS[rest % FILLS.length];
      rest = Math.floor(rest / FILLS.length);
      return fill?.();
    });
  }
}

function sentences(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return Array.isArray(value) ? value.flatMap(sentences) : [];
}

function rendered(text: (...given: unknown[]) => unknown): string[] {
  const found = new Set<string>();
  for (const given of filled(text.length)) {
    try {
      for (const sentence of sentences(text(...given))) found.add(sentence);
    } catch {
      /* Not a value that this text takes. */
    }
  }
  return [...found];
}

const tables = import.meta.glob<Record<string, unknown>>(["./**/*.ts", "!./**/*.test.ts"], { eager: true });
const all = Object.entries(tables).flatMap(([file, table]) => [...texts(table, file)]);

it("no text puts a plural behind one", () => {
  const wrong = all.flatMap(([path, text]) =>
    rendered(text)
      .filter((sentence) => WRONG.test(sentence) || WRONG_VERB.test(sentence))
      .slice(0, 1)
      .map((sentence) => `${path}: ${sentence}`),
  );
  expect(wrong).toEqual([]);
});

it("every text that takes values is rendered, so that none passes unread", () => {
  expect(all.length).toBeGreaterThan(300);
  const unread = all.filter(([, text]) => text.length > 0 && rendered(text).length === 0).map(([path]) => path);
  expect(unread.length).toBeLessThan(40);
});

it("the search itself finds what it looks for", () => {
  expect(["1 tokens", "≤ 1 tokens", "over 1 open tasks", "1 calls"].every((text) => WRONG.test(text))).toBe(true);
  expect(["1 token", "21 tokens", "1.1 tokens", "1,001 tasks"].some((text) => WRONG.test(text))).toBe(false);
});

import { expect, it } from "vitest";
import { lines } from "./read-lines";

function stream(...chunks: string[]): ReadableStream<Uint8Array> {
  const bytes = new TextEncoder();
  return new ReadableStream({
    start(to) {
      for (const chunk of chunks) to.enqueue(bytes.encode(chunk));
      to.close();
    },
  });
}

async function all(...chunks: string[]): Promise<string[]> {
  const found: string[] = [];
  for await (const line of lines(stream(...chunks))) found.push(line);
  return found;
}

it("frames_come_whole_however_they_are_cut", async () =>
  expect(await all('{"a":', '1}\n{"b":2}\n{"c"', ":3}\n"), "three lines").toEqual(['{"a":1}', '{"b":2}', '{"c":3}']));
it("heartbeats_are_empty_lines", async () =>
  expect(await all("\n", '{"a":1}\n\n'), "the reader skips them").toEqual(["", '{"a":1}', ""]));
it("a_last_line_without_an_end_still_counts", async () => expect(await all("x\ny"), "y too").toEqual(["x", "y"]));
it("a_line_that_never_ends_is_refused", async () => {
  const chunk = "w".repeat(1024 * 1024);
  await expect(all(...Array.from({ length: 25 }, () => chunk)), "the reader is bounded").rejects.toThrow("too long");
});

/* Lines of a byte stream. Overlong lines are cut, so memory use is bounded whatever the sender does. */

/** A snapshot of 10,000 inbox rows is about 6 MB; this is four times that (judgement). */
const LINE_CAP_CHARS = 24 * 1024 * 1024;

export async function* lines(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = stream.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  let kept: string[] = [];
  let size = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      let from = 0;
      for (let at = value.indexOf("\n"); at >= 0; at = value.indexOf("\n", from)) {
        kept.push(value.slice(from, at));
        yield kept.join("");
        kept = [];
        size = 0;
        from = at + 1;
      }
      kept.push(value.slice(from));
      size += value.length - from;
      if (size > LINE_CAP_CHARS) throw new Error("a frame of the feed is too long");
    }
    const rest = kept.join("");
    if (rest) yield rest;
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/* What a message of a server asks, in one sentence: it names a question in lists. Pure. */
import { singleLine } from "$lib/design";

const TITLE_CAP = 140;

/** How a request begins that is no question; in English, since nothing else of a message is understood. */
const REQUESTS = /^\s*(?:please\b|(?:approve|choose|confirm|decide|enter|name|pick|provide|select|specify|type)\s)/i;

/** The first sentence that asks, else the first that requests something, else the first one. */
export function firstSentence(message: string): string {
  const text = singleLine(message, 600);
  const sentences = text.match(/[^.!?…]+(?:[.!?…](?![\s"”')\]]|$)[^.!?…]*)*[.!?…]*["”')\]]*/g) ?? [];
  const asks = sentences.find((one) => /\?["”')\]]*$/.test(one.trim()));
  const requests = sentences.find((one) => REQUESTS.test(one));
  return singleLine(asks ?? requests ?? sentences[0] ?? text, TITLE_CAP).replace(/(?<![.])\.$/, "");
}

/* What a word of ours means, in one sentence, or null for a word that needs no explanation. Set once for the page, so
   that `Term` knows no texts. */
import { getContext, setContext } from "svelte";

type Meanings = (word: string) => string | null;
const MEANINGS = Symbol("meanings of words");

export const setMeanings = (read: Meanings): void => void setContext(MEANINGS, read);
export const getMeanings = (): Meanings => getContext<Meanings | undefined>(MEANINGS) ?? (() => null);

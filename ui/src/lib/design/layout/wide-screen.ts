/* Whether the window is so wide that a list leaves room for a detail beside it: then the first row is shown there before
   anybody asks. The same width as in the styles of the screens that do so. */
import { MediaQuery } from "svelte/reactivity";

/** Judgement: a table with all columns and a detail that reads well need this much. */
export const wideScreen = (): MediaQuery => new MediaQuery("(min-width: 1600px)", false);

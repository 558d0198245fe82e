/* The first lines of a text of any length. Pure. */
const LINES = 12;
const LINE_CAP = 400;

export function firstLines(text: string): string {
  const lines = text.slice(0, LINES * LINE_CAP).split(/\r?\n/);
  const shown = lines.slice(0, LINES).map((one) => (one.length > LINE_CAP ? `${one.slice(0, LINE_CAP)}…` : one));
  return lines.length > LINES || text.length > LINES * LINE_CAP ? [...shown, "…"].join("\n") : shown.join("\n");
}

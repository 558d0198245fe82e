/* Where a refused start is shown. The core names the place of a wrong argument in its message, as a JSON pointer in
   backticks; here it only decides where the same sentence stands, never what it means. */

export interface Place {
  /** Name of the argument at the top. */
  readonly field: string;
  /** Deeper, as in the message; empty for the argument itself. */
  readonly deeper: string;
  /** What is wrong there. */
  readonly why: string;
}

const AT = /^argument `(\/[^`]*)`: ([\s\S]+)$/;

export function placeOf(message: string): Place | null {
  const found = AT.exec(message);
  const pointer = found?.[1];
  const why = found?.[2];
  if (pointer === undefined || why === undefined || pointer === "/") return null;
  const [, first = "", ...rest] = pointer.split("/");
  return {
    field: first.replaceAll("~1", "/").replaceAll("~0", "~"),
    deeper: rest.length === 0 ? "" : `/${rest.join("/")}`,
    why,
  };
}

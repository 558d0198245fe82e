/* Our own documentation as blocks to show: the part of Markdown that `src-tauri/docs` uses, and no more. What it does not
   know is shown as text. Pure. */
export type Block =
  | { readonly kind: "heading"; readonly level: 1 | 2 | 3; readonly text: string }
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "list"; readonly items: readonly string[] }
  | { readonly kind: "code"; readonly text: string }
  | { readonly kind: "table"; readonly head: readonly string[]; readonly rows: readonly (readonly string[])[] };

export interface Span {
  readonly kind: "text" | "code" | "strong" | "em" | "link";
  readonly text: string;
  /** Of a link: where it leads, as written. */
  readonly to: string;
}

export function blocks(markdown: string): Block[] {
  const lines = markdown.replace(/\r\n?/g, "\n").split("\n");
  const found: Block[] = [];
  let at = 0;
  const take = (is: (line: string) => boolean): string[] => {
    const from = at;
    while (at < lines.length && is(lines[at] ?? "")) at += 1;
    return lines.slice(from, at);
  };
  while (at < lines.length) {
    const line = lines[at] ?? "";
    const heading = /^(#{1,3}) (.+)$/.exec(line);
    if (line.trim() === "" || line.startsWith("<!--")) at += 1;
    else if (heading) {
      found.push({ kind: "heading", level: (heading[1]?.length ?? 1) as 1 | 2 | 3, text: heading[2] ?? "" });
      at += 1;
    } else if (line.startsWith("```")) {
      at += 1;
      found.push({ kind: "code", text: take((one) => !one.startsWith("```")).join("\n") });
      at += 1;
    } else if (line.startsWith("|")) {
      const [head = [], , ...rows] = take((one) => one.startsWith("|")).map(cells);
      found.push({ kind: "table", head, rows });
    } else if (isItem(line)) {
      found.push({ kind: "list", items: take(isItem).map((one) => one.slice(2)) });
    } else {
      // A line a sentence: lines that follow each other are one paragraph.
      found.push({ kind: "text", text: take((one) => isText(one)).join(" ") });
    }
  }
  return found;
}

const isItem = (line: string) => line.startsWith("- ");
const isText = (line: string) => line.trim() !== "" && !/^(#{1,3} |```|\||- |<!--)/.test(line);
const cells = (row: string) =>
  row
    .replace(/^\||\|$/g, "")
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll("\\|", "|"));

const SPANS = /`([^`]+)`|\*\*([^*]+)\*\*|\*([^*]+)\*|\[([^\]]+)\]\(([^)\s]+)\)/g;

export function spans(text: string): Span[] {
  const found: Span[] = [];
  let from = 0;
  const plain = (to: number) => {
    if (to > from) found.push({ kind: "text", text: text.slice(from, to), to: "" });
  };
  for (const match of text.matchAll(SPANS)) {
    plain(match.index);
    const [whole, code, strong, em, label, to] = match;
    if (code !== undefined) found.push({ kind: "code", text: code, to: "" });
    else if (strong !== undefined) found.push({ kind: "strong", text: strong, to: "" });
    else if (em !== undefined) found.push({ kind: "em", text: em, to: "" });
    else found.push({ kind: "link", text: label ?? "", to: to ?? "" });
    from = match.index + whole.length;
  }
  plain(text.length);
  return found;
}

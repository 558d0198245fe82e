/* A command line as a person types it, split into program and arguments the way a POSIX shell would.
   It runs nothing and expands nothing: what a shell would treat specially is named with its place, because no shell
   reads the words. See server-draft.ts for the whole address and consent.ts for what is shown of it. */

/** Longest command line read. A longer one was pasted by mistake. */
export const COMMAND_CAP_CHARS = 32_768;

export type CommandFault =
  | { readonly kind: "openQuote"; readonly at: number; readonly quote: "'" | '"' }
  | { readonly kind: "openEscape"; readonly at: number }
  | { readonly kind: "lineBreak"; readonly at: number }
  | { readonly kind: "tooLong"; readonly at: number }
  /** `NAME=value` before the program: a shell would set it, we pass the program's name. */
  | { readonly kind: "assignment"; readonly at: number; readonly name: string; readonly value: string };

/** A character that a shell would act on and that is passed on as it is. */
export interface ShellSign {
  readonly at: number;
  readonly sign: string;
}

export interface CommandLine {
  readonly words: readonly string[];
  /** Where each word begins in the text. */
  readonly starts: readonly number[];
  readonly fault: CommandFault | null;
  readonly signs: readonly ShellSign[];
}

const SIGNS = new Set(["|", "&", ";", "<", ">", "`", "$", "*"]);
const ASSIGNMENT = /^([A-Za-z_][A-Za-z0-9_]*)=([\s\S]*)$/;

class Splitter {
  words: string[] = [];
  starts: number[] = [];
  signs: ShellSign[] = [];
  #word: string | null = null;

  add(text: string, at: number): void {
    if (this.#word === null) this.starts.push(at);
    this.#word = (this.#word ?? "") + text;
  }

  endWord(): void {
    if (this.#word !== null) this.words.push(this.#word);
    this.#word = null;
  }

  done(fault: CommandFault | null): CommandLine {
    this.endWord();
    return { words: this.words, starts: this.starts, signs: this.signs, fault };
  }
}

export function splitCommand(text: string): CommandLine {
  const out = new Splitter();
  if (text.length > COMMAND_CAP_CHARS) return out.done({ kind: "tooLong", at: COMMAND_CAP_CHARS });
  let at = 0;
  while (at < text.length) {
    const sign = text.charAt(at);
    if (sign === "\n" || sign === "\r") {
      if (text.slice(at).trim() !== "") return out.done({ kind: "lineBreak", at });
      break;
    }
    if (sign === " " || sign === "\t") {
      out.endWord();
      at += 1;
    } else if (sign === "'") {
      const end = text.indexOf("'", at + 1);
      if (end < 0) return out.done({ kind: "openQuote", at, quote: "'" });
      out.add(text.slice(at + 1, end), at);
      at = end + 1;
    } else if (sign === '"') {
      const quoted = doubleQuoted(text, at);
      if (quoted === null) return out.done({ kind: "openQuote", at, quote: '"' });
      out.add(quoted.value, at);
      at = quoted.end;
    } else if (sign === "\\") {
      if (at + 1 >= text.length) return out.done({ kind: "openEscape", at });
      out.add(text.charAt(at + 1), at);
      at += 2;
    } else {
      if (SIGNS.has(sign)) out.signs.push({ at, sign });
      out.add(sign, at);
      at += 1;
    }
  }
  return withAssignment(out.done(null));
}

/** Within double quotes a backslash escapes only what a shell would read there. */
function doubleQuoted(text: string, from: number): { value: string; end: number } | null {
  let value = "";
  for (let at = from + 1; at < text.length; at += 1) {
    const sign = text.charAt(at);
    if (sign === '"') return { value, end: at + 1 };
    const next = text.charAt(at + 1);
    if (sign === "\\" && next !== "" && '"\\$`'.includes(next)) {
      value += next;
      at += 1;
    } else value += sign;
  }
  return null;
}

function withAssignment(line: CommandLine): CommandLine {
  const found = ASSIGNMENT.exec(line.words[0] ?? "");
  const name = found?.[1];
  if (name === undefined) return line;
  return { ...line, fault: { kind: "assignment", at: line.starts[0] ?? 0, name, value: found?.[2] ?? "" } };
}

const PLAIN = /^[A-Za-z0-9_@%+=:,./-]+$/;

/** One word as it would have to be typed. */
export function quoteWord(word: string): string {
  return PLAIN.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** The line that splits into these words again. */
export function joinCommand(words: readonly string[]): string {
  return words.map(quoteWord).join(" ");
}

/** The line without its first word, for moving an assignment to the environment. */
export function withoutFirstWord(text: string): string {
  const line = splitCommand(text);
  const second = line.starts[1];
  return second === undefined ? "" : text.slice(second);
}

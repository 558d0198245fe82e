/* Words of the program of an agent: what its model sees of what was passed, and what only the program knows. */
import { line } from "$lib/design/plain";
import type { ProgramDto, ShownPartDto } from "$lib/bindings";
import { count } from "$lib/model/bytes";

const NAME_CAP = 40;

const PARTS: Readonly<Record<ShownPartDto, string | null>> = {
  both: null,
  structuredFirst: "the structured content where there is one, otherwise the text",
  content: "the text only",
};

/** Sentences, in the order they are read. */
export function programWords(program: ProgramDto): readonly string[] {
  const label = line(program.label, NAME_CAP);
  const measured = program.version === "" ? "" : `, as measured with ${line(program.version, NAME_CAP)}`;
  const part = PARTS[program.shows];
  const most = program.resultTokens === null ? null : count(program.resultTokens);
  const cut =
    most === null || program.longResult === "whole"
      ? ""
      : program.longResult === "cut"
        ? `, cut somewhere above ${most} tokens`
        : `; above ${most} tokens the name of a file`;
  return [
    ...(program.from === "set" ? [`The program is ${label}${measured}.`] : []),
    ...(program.from === "client"
      ? [`The program calls itself ${label}${measured}. Until you confirm it below, limits count the larger figure.`]
      : []),
    ...(program.from === "nobody"
      ? ["The program is not known: all that is passed counts. You can name it below."]
      : []),
    ...(part === null ? [] : [`Of a result its model sees ${part}${cut}.`]),
    ...(most === null
      ? []
      : [
          program.holdsCut
            ? `Results above the ${most} tokens that ${label} surely shows its model are held and read in slices.`
            : `Longer results are passed, and ${label} cuts them.`,
        ]),
    `Only the program knows when it compacted and what its own prompt takes${program.toolsSearched ? ", and which tool definitions its model searched for" : ""}.`,
  ];
}

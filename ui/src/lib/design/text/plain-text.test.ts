import { describe, expect, it } from "vitest";
import { singleLine, plainText } from "./plain-text";

const ESC = String.fromCharCode(27);
const RLO = String.fromCharCode(0x202e);

describe("foreign text", () => {
  it("keeps_markup_as_letters", () =>
    expect(plainText("<img src=x onerror=alert(1)>"), "it is never parsed, so it needs no change").toBe(
      "<img src=x onerror=alert(1)>",
    ));
  it("loses_terminal_escapes", () =>
    expect(
      plainText(`${ESC}[31mred${ESC}[0m ${ESC}]0;title${String.fromCharCode(7)}x`),
      "colours and titles are for terminals",
    ).toBe("red x"));
  it.each([
    ["a colour in one character (C1)", "\u009b1;31mred\u009b0m", "red"],
    ["a link", `${ESC}]8;;https://x.example${ESC}\\here${ESC}]8;;${ESC}\\`, "here"],
    ["a title in one character", "\u009dtitle\u009cx", "x"],
    ["a device string", `${ESC}P1$r0m${ESC}\\x`, "x"],
    ["a character set", `${ESC}(Bx`, "x"],
    ["a colon in a colour", `${ESC}[38:2::255:0:0mred`, "red"],
    ["a sequence cut off", `red${ESC}[3`, "red"],
    ["a string without an end", `${ESC}]0;title\nnext line`, "\nnext line"],
  ])("leaves_nothing_of_a_terminal_sequence: %s", (_, text, shown) => expect(plainText(text)).toBe(shown));
  it("keeps_brackets_that_are_no_sequence", () => expect(plainText("[31m and [0m")).toBe("[31m and [0m"));
  it("cannot_turn_the_reading_direction", () =>
    expect(plainText(`file${RLO}gpj.exe`), "an override makes .exe look like .jpg").toBe("filegpj.exe"));
  it("keeps_lines_and_tabs", () => expect(plainText("a\r\nb\tc"), "they carry meaning").toBe("a\nb\tc"));
  it("fits_one_line_however_long_it_was", () => {
    const cut = singleLine(`a\n${"w".repeat(100_000)}`, 20);
    expect(cut.length, "the cap holds").toBeLessThanOrEqual(20);
    expect(cut, "a line break is a space").toMatch(/^a w+…$/);
  });
});

/* Foreign text made harmless to layout and to readers: no escape sequences, no control characters, no direction
   overrides. What it says stays as it is; markup needs no care, because nothing here is ever parsed as markup. */

/** A sequence whole, in seven bits or in eight: strings up to their terminator (OSC, DCS, APC, PM, SOS), parameters up to
    their final character (CSI), and the short ones. One that is not finished ends with its line. */
const ANSI =
  /(?:\u001b[\]PX^_]|[\u0090\u0098\u009d-\u009f])[^\u0007\u009c\u001b\n]*(?:\u0007|\u009c|\u001b\\?)?|(?:\u001b\[|\u009b)[ -?]*[@-~]?|\u001b[ -/]*[0-~]?/g;
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g;
const DIRECTION = /[\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]/g;
const INVISIBLE = /[\u200b\u2060\ufeff\u00ad]/g;

export function plainText(text: string): string {
  return text
    .replace(ANSI, "")
    .replace(/\r\n?/g, "\n")
    .replace(CONTROL, "")
    .replace(DIRECTION, "")
    .replace(INVISIBLE, "");
}

/** In one line and no longer than `cap` characters. */
export function singleLine(text: string, cap = 300): string {
  // Cut before the work: a line of 100 kB costs as much as one of a kilobyte.
  const flat = plainText(text.slice(0, cap * 4))
    .replace(/\s+/g, " ")
    .trim();
  return flat.length > cap ? `${flat.slice(0, cap - 1).trimEnd()}…` : flat;
}

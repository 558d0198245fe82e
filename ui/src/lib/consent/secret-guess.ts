/* Guesses whether something is a secret, by its name or its value. A guess only warns: it stores nothing and blocks nothing.
   Other programs can read secrets in arguments, plain environment or addresses, and the registry stores those as text. */

const NAME =
  /(?:^|[^a-z])(?:tokens?|secrets?|pass(?:word|wd|phrase)?|pwd|pat|api_?key|apikey|access_?key|private_?key|auth|authorization|credentials?|bearer|cookie|session_?id|client_?secret|key)(?:[^a-z]|$)/i;

/** Prefixes that makers of keys document for their own. */
const PREFIX =
  /^(?:sk-|sk_live_|sk_test_|rk_live_|gh[pousr]_|github_pat_|glpat-|xox[abprs]-|AKIA|ASIA|AIza|ya29\.|npm_|pypi-|hf_|eyJ[A-Za-z0-9_-]{8,}\.|-----BEGIN )/;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const KEYLIKE = /^[A-Za-z0-9_+=-]{32,}$/;
/** Bits per character from which on a long word reads like drawn at random; English words stay under it. */
const RANDOM_BITS = 3.7;
/** Names made of words have dashes; keys have few. */
const WORDS_MAX = 4;

export function isSecretName(name: string): boolean {
  // camelCase and dashes are one: apiKey, api-key, API_KEY.
  return NAME.test(name.replace(/([a-z0-9])([A-Z])/g, "$1_$2").replaceAll("-", "_"));
}

export function isSecretValue(value: string): boolean {
  if (PREFIX.test(value)) return true;
  if (UUID.test(value) || !KEYLIKE.test(value) || value.startsWith("-") || value.split(/[-_]/).length > WORDS_MAX)
    return false;
  return /[0-9]/.test(value) && /[A-Za-z]/.test(value) && bitsPerCharacter(value) >= RANDOM_BITS;
}

function bitsPerCharacter(text: string): number {
  const counts = new Map<string, number>();
  for (const sign of text) counts.set(sign, (counts.get(sign) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / text.length) * Math.log2(count / text.length);
  return bits;
}

/** Indices of arguments that look like they carry a secret: `--token x`, `--token=x`, `Bearer …`, `scheme://name:word@host`. */
export function secretArguments(args: readonly string[]): readonly number[] {
  const found: number[] = [];
  args.forEach((arg, at) => {
    const [flag, value] = halves(arg);
    const before = args[at - 1] ?? "";
    const named = value !== null && value !== "" && isSecretOption(flag);
    // A flag's value follows it; another flag is no value.
    const follows = before.startsWith("-") && !before.includes("=") && !arg.startsWith("-") && isSecretOption(before);
    const carries = /\bBearer\s+\S/i.test(arg) || /^[a-z][a-z0-9+.-]*:\/\/[^/@\s]*:[^/@\s]+@/i.test(arg);
    if (named || follows || carries || isSecretValue(value ?? arg)) found.push(at);
  });
  return found;
}

/** The name of a file is no secret: `--token-file`. */
function isSecretOption(flag: string): boolean {
  return isSecretName(flag) && !/(?:file|path|dir)$/i.test(flag);
}

/** Stands for a secret, as in the lines that the core shows. */
const HIDDEN = "(hidden)";

/** The arguments without what looks like a secret; an option keeps its name. */
export function withoutSecrets(args: readonly string[]): readonly string[] {
  const found = new Set(secretArguments(args));
  return args.map((arg, at) => {
    const [flag, value] = halves(arg);
    if (!found.has(at)) return arg;
    return value !== null && /^--?[\w-]+$/.test(flag) ? `${flag}=${HIDDEN}` : HIDDEN;
  });
}

const QUOTED = /"((?:[^"\\]|\\.)*)"|'([^']*)'/g;

/** Lines of a configuration file (JSON or TOML) without the quoted values that look like secrets, or that follow an
    option which names one, on its line or on the next. */
export function linesWithoutSecrets(lines: readonly string[]): readonly string[] {
  const words = lines.flatMap((line) => [...line.matchAll(QUOTED)].map((one) => one[1] ?? one[2] ?? ""));
  const shown = withoutSecrets(words);
  let at = 0;
  return lines.map((line) =>
    line.replace(QUOTED, (whole: string, _double, _single, from: number) => {
      const word = shown[at] ?? "";
      const isSame = words[at++] === word;
      // What a colon or an equals sign follows is the name of a member.
      if (isSame || /^\s*[:=]/.test(line.slice(from + whole.length))) return whole;
      return `${whole.charAt(0)}${word}${whole.charAt(0)}`;
    }),
  );
}

/** An address without a password and without values of its query that look like secrets. */
export function addressWithoutSecrets(url: string): string {
  return url
    .replace(/^([a-z][a-z0-9+.-]*:\/\/[^/@\s:]*:)[^/@\s]+@/i, `$1${HIDDEN}@`)
    .replace(/([?&])([^=&#]+)=([^&#]+)/g, (whole: string, sign: string, name: string, value: string) =>
      isSecretName(name) || isSecretValue(value) ? `${sign}${name}=${HIDDEN}` : whole,
    );
}

function halves(arg: string): [string, string | null] {
  const at = arg.indexOf("=");
  return at < 0 ? [arg, null] : [arg.slice(0, at), arg.slice(at + 1)];
}

/* The host of an address as people can judge it: Punycode read out, the ASCII form beside it, scheme and port apart.
   It opens nothing and trusts nothing; what is no http or https address has no host here. */

export interface ShownHost {
  /** As it reads; the same as `ascii` for most. */
  readonly host: string;
  /** As it stands on the wire, with the port when one is named. */
  readonly ascii: string;
  /** Letters of other scripts can look alike: both forms are shown. */
  readonly differs: boolean;
  readonly isEncrypted: boolean;
  readonly isHere: boolean;
  readonly hasPassword: boolean;
}

export function shownHost(address: string): ShownHost | null {
  const url = parsed(address);
  if (url === null) return null;
  const name = url.hostname.split(".").map(readLabel).join(".");
  const port = url.port === "" ? "" : `:${url.port}`;
  return {
    host: `${name}${port}`,
    ascii: url.host,
    differs: name !== url.hostname,
    isEncrypted: url.protocol === "https:",
    isHere: isLoopback(url.hostname),
    hasPassword: url.username !== "" || url.password !== "",
  };
}

function parsed(address: string): URL | null {
  try {
    const url = new URL(address);
    return (url.protocol === "http:" || url.protocol === "https:") && url.hostname !== "" ? url : null;
  } catch {
    return null;
  }
}

function isLoopback(name: string): boolean {
  return name === "localhost" || name.endsWith(".localhost") || name === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(name);
}

/** Signs that could turn text around or hide have no place in a name: such a label stays encoded. */
const PRINTABLE = /^[\p{L}\p{M}\p{N}-]+$/u;

function readLabel(label: string): string {
  if (!label.startsWith("xn--")) return label;
  const read = decodePunycode(label.slice("xn--".length));
  return read !== null && PRINTABLE.test(read) ? read : label;
}

/* RFC 3492, section 5 and 6.2, with its parameters for domain names. */
const BASE = 36;
const T_MIN = 1;
const T_MAX = 26;
const SKEW = 38;
const DAMP = 700;
const INITIAL_BIAS = 72;
const INITIAL_N = 128;
const LAST_CODE_POINT = 0x10ffff;

/** Null when it is no Punycode. */
export function decodePunycode(text: string): string | null {
  const dash = text.lastIndexOf("-");
  const out: number[] = [];
  for (const sign of dash > 0 ? text.slice(0, dash) : "") {
    const code = sign.codePointAt(0) ?? INITIAL_N;
    if (code >= INITIAL_N) return null;
    out.push(code);
  }
  let [n, i, bias] = [INITIAL_N, 0, INITIAL_BIAS];
  let at = dash > 0 ? dash + 1 : 0;
  while (at < text.length) {
    const before = i;
    let weight = 1;
    for (let k = BASE; ; k += BASE) {
      const digit = digitOf(text.charAt(at));
      if (digit === null) return null;
      at += 1;
      i += digit * weight;
      if (i > LAST_CODE_POINT * (out.length + 1)) return null;
      const threshold = k <= bias ? T_MIN : Math.min(k - bias, T_MAX);
      if (digit < threshold) break;
      weight *= BASE - threshold;
    }
    const length = out.length + 1;
    bias = adapted(i - before, length, before === 0);
    n += Math.floor(i / length);
    i %= length;
    if (n > LAST_CODE_POINT || (n >= 0xd800 && n <= 0xdfff)) return null;
    out.splice(i, 0, n);
    i += 1;
  }
  return String.fromCodePoint(...out);
}

function digitOf(sign: string): number | null {
  if (/^[a-z]$/i.test(sign)) return sign.toLowerCase().charCodeAt(0) - 97;
  if (/^[0-9]$/.test(sign)) return sign.charCodeAt(0) - 48 + 26;
  return null;
}

function adapted(delta: number, length: number, isFirst: boolean): number {
  let rest = isFirst ? Math.floor(delta / DAMP) : Math.floor(delta / 2);
  rest += Math.floor(rest / length);
  let k = 0;
  while (rest > ((BASE - T_MIN) * T_MAX) / 2) {
    rest = Math.floor(rest / (BASE - T_MIN));
    k += BASE;
  }
  return k + Math.floor(((BASE - T_MIN + 1) * rest) / (rest + SKEW));
}

/* What a person sees before anything runs or is contacted: every word of the command on a line of its own, and what
   deserves a second look. It never hides or shortens a word. The agreement itself is the core's to record. */
import type { AddressDto } from "$lib/bindings";
import { shownHost } from "./host";
import { splitCommand } from "./command-line";
import { isSecretName, isSecretValue, secretArguments } from "./secret-guess";

export interface ConsentLine {
  /** `program`, the number of an argument, `folder`, `environment`, `secrets`, `address`, `host`. */
  readonly label: string;
  readonly text: string;
}

export type Warning =
  | { readonly kind: "secretArgument"; readonly numbers: readonly number[] }
  | { readonly kind: "secretEnv"; readonly names: readonly string[] }
  | { readonly kind: "secretQuery"; readonly names: readonly string[] }
  | { readonly kind: "shellSigns"; readonly signs: readonly string[] }
  | { readonly kind: "moreRights" | "deletes" | "network" | "runsFetched" | "ownScript" | "hidden" }
  | { readonly kind: "fetches"; readonly program: string; readonly pinned: boolean }
  | { readonly kind: "plainHttp"; readonly host: string; readonly withSecrets: boolean }
  | { readonly kind: "lookalike"; readonly host: string; readonly ascii: string };

export interface Words {
  readonly program: string;
  readonly folder: string;
  readonly home: string;
  readonly environment: string;
  readonly secrets: string;
  readonly kept: (names: string) => string;
  readonly address: string;
  readonly host: string;
}

export function consentLines(address: AddressDto, words: Words): readonly ConsentLine[] {
  if (address.kind === "http") {
    const host = shownHost(address.url);
    return [
      { label: words.address, text: address.url },
      ...(host === null
        ? []
        : [{ label: words.host, text: host.differs ? `${host.host} (${host.ascii})` : host.host }]),
      ...(address.secretHeaders.length === 0
        ? []
        : [{ label: words.secrets, text: words.kept(address.secretHeaders.join(", ")) }]),
    ];
  }
  return [
    { label: words.program, text: address.command },
    ...address.args.map((text, at) => ({ label: String(at + 1), text })),
    { label: words.folder, text: address.cwd ?? words.home },
    ...Object.entries(address.env).map(([name, value], at) => ({
      label: at === 0 ? words.environment : "",
      text: `${name}=${value}`,
    })),
    ...(address.secretEnv.length === 0
      ? []
      : [{ label: words.secrets, text: words.kept(address.secretEnv.join(", ")) }]),
  ];
}

/** The raw command is asked too, for signs that only a shell would act on. */
export function warnings(address: AddressDto, command = ""): readonly Warning[] {
  return address.kind === "http" ? httpWarnings(address) : [...stdioWarnings(address), ...signWarnings(command)];
}

function httpWarnings(address: Extract<AddressDto, { kind: "http" }>): Warning[] {
  const host = shownHost(address.url);
  if (host === null) return [];
  const found: Warning[] = [];
  if (!host.isEncrypted && !host.isHere)
    found.push({ kind: "plainHttp", host: host.host, withSecrets: address.secretHeaders.length > 0 });
  if (host.differs) found.push({ kind: "lookalike", host: host.host, ascii: host.ascii });
  const query = [...new URL(address.url).searchParams].filter(
    ([name, value]) => isSecretName(name) || isSecretValue(value),
  );
  if (query.length > 0) found.push({ kind: "secretQuery", names: [...new Set(query.map(([name]) => name))] });
  return found;
}

const FETCHERS = new Set(["npx", "bunx", "pnpx", "uvx", "pipx", "dlx"]);
const RAISERS = new Set(["sudo", "doas", "pkexec", "su", "runas"]);
const DELETERS = new Set(["rm", "rmdir", "dd", "mkfs", "shred", "format", "del"]);
const LOADERS = new Set(["curl", "wget"]);
const TALKERS = new Set(["curl", "wget", "nc", "ncat", "ssh", "scp"]);
const SHELLS = new Set(["sh", "bash", "zsh", "dash", "fish", "cmd", "cmd.exe", "powershell", "pwsh"]);
const RUNNERS = new Set([...SHELLS, "python", "python3", "node", "perl"]);

function stdioWarnings(address: Extract<AddressDto, { kind: "stdio" }>): Warning[] {
  const { command, args } = address;
  const words = [command, ...args]
    .flatMap((word) => word.split(/[\s;|&()`$"']+/))
    .filter((word) => word !== "")
    .map(base);
  const has = (names: ReadonlySet<string>) => words.some((word) => names.has(word));
  const whole = [command, ...args].join(" ");
  const found: Warning[] = [];
  const secret = secretArguments(args);
  if (secret.length > 0) found.push({ kind: "secretArgument", numbers: secret.map((at) => at + 1) });
  const plain = Object.entries(address.env).filter(([name, value]) => isSecretName(name) || isSecretValue(value));
  if (plain.length > 0) found.push({ kind: "secretEnv", names: plain.map(([name]) => name) });
  if (has(RAISERS)) found.push({ kind: "moreRights" });
  if (has(DELETERS)) found.push({ kind: "deletes" });
  if (has(LOADERS) && whole.includes("|") && has(RUNNERS)) found.push({ kind: "runsFetched" });
  else if (has(TALKERS)) found.push({ kind: "network" });
  if (has(SHELLS) && args.some((arg) => arg === "-c" || arg === "/c")) found.push({ kind: "ownScript" });
  if (/\beval |base64 (?:-d|--decode)\b/.test(whole)) found.push({ kind: "hidden" });
  const fetcher = fetches(base(command), args);
  if (fetcher !== null) found.push(fetcher);
  return found;
}

/** Package runners download what they run, unless it is there already. */
function fetches(program: string, args: readonly string[]): Warning | null {
  const runner = FETCHERS.has(program)
    ? program
    : ((program === "pnpm" || program === "yarn") && args[0] === "dlx") ||
        (program === "uv" && args[0] === "tool") ||
        (program === "npm" && args[0] === "exec")
      ? program
      : null;
  if (runner === null) return null;
  const named = args.find((arg) => !arg.startsWith("-") && !["dlx", "exec", "tool", "run"].includes(arg)) ?? "";
  return { kind: "fetches", program: runner, pinned: /.(?:@|==)v?\d+\.\d+/.test(named) };
}

function signWarnings(command: string): Warning[] {
  const signs = [...new Set(splitCommand(command).signs.map((one) => one.sign))];
  return signs.length === 0 ? [] : [{ kind: "shellSigns", signs }];
}

function base(word: string): string {
  return word.split(/[/\\]/).at(-1) ?? word;
}

import { describe, expect, it } from "vitest";
import {
  addressWithoutSecrets,
  isSecretName,
  isSecretValue,
  linesWithoutSecrets,
  secretArguments,
  withoutSecrets,
} from "./secret-guess";

describe("what looks like a secret", () => {
  it.each([
    "API_KEY",
    "apiKey",
    "api-key",
    "GITHUB_TOKEN",
    "Authorization",
    "X-Api-Key",
    "DB_PASSWORD",
    "--token",
    "client_secret",
  ])("the name %s does", (name) => {
    expect(isSecretName(name)).toBe(true);
  });

  it.each(["PATH", "keyboard", "MONKEY", "tokenizer", "author", "HOME", "passenger", "LOG_LEVEL"])(
    "the name %s does not",
    (name) => {
      expect(isSecretName(name)).toBe(false);
    },
  );

  it("knows keys by their shape and leaves words, ids and paths alone", () => {
    expect(isSecretValue("ghp_" + "a1B2c3D4".repeat(5))).toBe(true);
    expect(isSecretValue("q7Gz0pXw93LmKd82VbTn5RyAh41CsUe6")).toBe(true);
    expect(isSecretValue("123e4567-e89b-12d3-a456-426614174000"), "an id is no secret").toBe(false);
    expect(isSecretValue("@modelcontextprotocol/server-everything-and-more")).toBe(false);
    expect(isSecretValue("--a-long-flag-with-many-words-and-2-numbers")).toBe(false);
  });

  it("finds them among arguments", () => {
    expect(secretArguments(["-y", "server", "--token", "abc", "--api-key=xyz", "--verbose"])).toEqual([3, 4]);
    expect(secretArguments(["postgres://ann:hush@db/x", "postgres://ann@db/x"])).toEqual([0]);
    expect(secretArguments(["-H", "Authorization: Bearer abc"])).toEqual([1]);
    expect(secretArguments(["--token", "--verbose"]), "a flag is no value").toEqual([]);
  });

  it("takes the name of a file for no secret", () => {
    expect(secretArguments(["--token-file", "/run/token", "--key-path=/etc/key"])).toEqual([]);
  });
});

describe("what is shown of a command", () => {
  it("has the names of options and no value after one that names a secret", () => {
    expect(withoutSecrets(["-y", "x", "--api-key", "hush", "--password=hush", "--port", "1"])).toEqual([
      "-y",
      "x",
      "--api-key",
      "(hidden)",
      "--password=(hidden)",
      "--port",
      "1",
    ]);
  });

  it("has them in a file too, on one line or on several, and leaves the names of members", () => {
    expect(linesWithoutSecrets(['  "args": ["-y", "--api-key", "hush"],', '  "env": {}'])).toEqual([
      '  "args": ["-y", "--api-key", "(hidden)"],',
      '  "env": {}',
    ]);
    expect(linesWithoutSecrets(["args = [", "  '--token',", "  'hush',", "]"])).toEqual([
      "args = [",
      "  '--token',",
      "  '(hidden)',",
      "]",
    ]);
    expect(linesWithoutSecrets(['"args": ["--token"],', '"env": {}']), "a flag without a value").toEqual([
      '"args": ["--token"],',
      '"env": {}',
    ]);
  });

  it("has no password and no key of an address", () => {
    expect(addressWithoutSecrets("https://ann:hush@a.example/mcp?api_key=hush&page=2")).toBe(
      "https://ann:(hidden)@a.example/mcp?api_key=(hidden)&page=2",
    );
  });
});

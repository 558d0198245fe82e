import { domainToUnicode } from "node:url";
import { describe, expect, it } from "vitest";
import { decodePunycode, shownHost } from "./host";

describe("a host", () => {
  it("that imitates another is shown both ways", () => {
    const shown = shownHost("https://xn--pple-43d.com/x");
    expect(shown).toMatchObject({ host: "аpple.com", ascii: "xn--pple-43d.com", differs: true, isEncrypted: true });
  });

  it.each(["bücher.example", "例え.テスト", "правда.example", "ünïcødé-mixed.example", "a.b.example:8443"])(
    "%s reads as the platform reads it",
    (host) => {
      const ascii = new URL(`https://${host}/`).hostname;
      expect(shownHost(`https://${host}/`)?.host.split(":")[0]).toBe(domainToUnicode(ascii));
    },
  );

  it("keeps a label encoded that would turn text around or is broken", () => {
    expect(decodePunycode("99999999999")).toBeNull();
    expect(decodePunycode("")).toBe("");
    expect(shownHost("https://xn--a-0000000000.example/")?.host ?? "xn--").toContain("xn--");
  });

  it("is none where a browser has nothing to open", () => {
    for (const address of [
      "javascript:alert(1)",
      "data:text/html,x",
      "file:///etc/passwd",
      "not an address",
      "ftp://x",
    ]) {
      expect(shownHost(address), address).toBeNull();
    }
  });

  it("tells this machine, encryption and a name in the address", () => {
    expect(shownHost("http://127.0.0.1:8080/mcp")).toMatchObject({
      host: "127.0.0.1:8080",
      isHere: true,
      isEncrypted: false,
    });
    expect(shownHost("http://[::1]:9/")).toMatchObject({ isHere: true });
    expect(shownHost("https://good.example@evil.example/")).toMatchObject({ host: "evil.example", hasPassword: true });
    expect(shownHost("http://127.0.0.1.evil.example/")).toMatchObject({ isHere: false });
  });
});

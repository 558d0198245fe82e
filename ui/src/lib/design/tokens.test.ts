/* Appendix A of the style guide, computed anew over tokens.css: every ink on every surface, in both themes. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

const read = (name: string) => readFileSync(new URL(name, import.meta.url), "utf8");
const css = read("./tokens.css");

function block(from: string): Map<string, string> {
  const start = css.indexOf("{", css.indexOf(from)) + 1;
  const body = css.slice(start, css.indexOf("}", start));
  return new Map(
    [...body.matchAll(/(--[\w-]+)\s*:\s*(#[0-9A-Fa-f]{6})\b/g)].map((found) => [found[1] ?? "", found[2] ?? ""]),
  );
}

const themes = { light: block(':root, [data-theme="light"]'), dark: block('[data-theme="dark"]') };

function luminance(hex: string): number {
  const [r = 0, g = 0, b = 0] = [1, 3, 5].map((at) => {
    const part = parseInt(hex.slice(at, at + 2), 16) / 255;
    return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

const SURFACES = ["app", "panel", "raised", "hover", "selected", "well"].map((name) => `--surface-${name}`);
const TONES = ["attention", "running", "success", "danger", "neutral", "stale"].map((name) => `--${name}`);

for (const [name, theme] of Object.entries(themes)) {
  const colour = (token: string) => {
    const found = theme.get(token);
    if (found === undefined) throw new Error(`${name} has no ${token}`);
    return found;
  };
  describe(`${name} theme`, () => {
    it("every_ink_reads_on_every_surface", () => {
      for (const ink of ["--text", "--text-muted", "--accent", ...TONES]) {
        for (const surface of SURFACES)
          expect(contrast(colour(ink), colour(surface)), `${ink} on ${surface}`).toBeGreaterThanOrEqual(4.5);
      }
    });
    it("faint_text_reads_on_every_surface_it_may_stand_on", () => {
      for (const surface of SURFACES)
        expect(contrast(colour("--text-faint"), colour(surface)), surface).toBeGreaterThanOrEqual(4.5);
    });
    it("every_tone_reads_on_its_wash", () => {
      for (const tone of TONES)
        expect(contrast(colour(tone), colour(`${tone}-wash`)), tone).toBeGreaterThanOrEqual(4.5);
    });
    it("text_reads_on_every_wash", () => {
      for (const tone of TONES)
        expect(contrast(colour("--text"), colour(`${tone}-wash`)), tone).toBeGreaterThanOrEqual(4.5);
    });
    it("labels_read_on_the_filled_controls", () => {
      expect(contrast(colour("--on-accent"), colour("--accent")), "primary button").toBeGreaterThanOrEqual(4.5);
      expect(
        contrast(colour("--on-accent"), colour("--accent-hover")),
        "primary button under the pointer",
      ).toBeGreaterThanOrEqual(4.5);
      expect(contrast(colour("--on-attention"), colour("--attention-solid")), "the loud count").toBeGreaterThanOrEqual(
        4.5,
      );
    });
    it("edges_of_controls_and_the_focus_ring_are_seen", () => {
      for (const surface of ["--surface-app", "--surface-panel", "--surface-raised"]) {
        expect(contrast(colour("--border-strong"), colour(surface)), `edge on ${surface}`).toBeGreaterThanOrEqual(3);
        expect(contrast(colour("--focus"), colour(surface)), `focus on ${surface}`).toBeGreaterThanOrEqual(3);
      }
    });
  });
}

it("both_ways_to_the_dark_theme_have_the_same_colours", () => {
  const bySystem = block(':root:not([data-theme="light"])');
  expect([...bySystem], "the media query and the attribute are the same theme").toEqual([...themes.dark]);
});

/* The house rules a machine can see. Each ban names the rule of the style guide it stands for. */
import svelte from "eslint-plugin-svelte";
import globals from "globals";
import ts from "typescript-eslint";
import house from "./lint/house.js";
import svelteConfig from "./svelte.config.js";

export default ts.config(
  { ignores: ["dist/", "dist-stories*/", "node_modules/", "src/lib/bindings/"] },
  ...ts.configs.strict,
  ...svelte.configs["flat/recommended"],
  { languageOptions: { globals: { ...globals.browser, ...globals.node } }, plugins: { house } },
  {
    files: ["**/*.svelte", "**/*.svelte.ts"],
    languageOptions: { parserOptions: { parser: ts.parser, extraFileExtensions: [".svelte"], svelteConfig } },
  },
  {
    rules: {
      "@typescript-eslint/no-explicit-any": "error",
      "@typescript-eslint/no-non-null-assertion": "error",
      "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_" }],
      "@typescript-eslint/no-empty-object-type": "off",
      "@typescript-eslint/no-invalid-void-type": "off",
      "svelte/no-at-html-tags": "error",
      "svelte/require-each-key": "error",
      // Sets and maps that are replaced whole, never changed in place, need no reactive twin.
      "svelte/prefer-svelte-reactivity": "off",
      // No router of the framework: addresses are hashes.
      "svelte/no-navigation-without-resolve": "off",
      // Its own compiler options differ from ours; svelte-check is the judge of warnings.
      "svelte/no-unused-svelte-ignore": "off",
      "no-restricted-syntax": [
        "error",
        { selector: "TSEnumDeclaration", message: "No enums: use a closed union of strings (59)." },
        {
          selector: "SvelteAttribute[key.name='style']",
          message: "No style attributes: the content policy blocks them; use scoped styles or style:--x (66).",
        },
        {
          selector: "SvelteStyleDirective[key.name.name=/^(?!--)/]",
          message: "Only custom properties are set through style: directives (66).",
        },
      ],
      "no-restricted-imports": [
        "error",
        { patterns: [{ group: ["**/features/*"], message: "A feature never imports another feature (64)." }] },
      ],
      "house/tokens-only": "error",
      "house/size": "error",
    },
  },
  {
    files: ["src/**/*.stories.ts", "stories/**", "bench/**"],
    rules: { "no-restricted-imports": "off" },
  },
  {
    // Nothing made up reaches the product: only stories, examples and tests may import it.
    files: ["src/**"],
    ignores: [
      "**/*.stories.ts",
      "**/*.example.*",
      "**/*.test.ts",
      "src/lib/fake-core/**",
      "src/lib/design/**",
      "src/App.svelte",
      "src/main.ts",
    ],
    rules: {
      "no-restricted-imports": [
        "error",
        {
          patterns: [
            { group: ["**/features/*"], message: "A feature never imports another feature (64)." },
            {
              group: ["$lib/fake-core/*"],
              message: "Made-up data stays out of the product.",
            },
          ],
        },
      ],
    },
  },
  {
    files: ["src/App.svelte", "src/main.ts", "src/Root.svelte"],
    rules: {
      "no-restricted-imports": [
        "error",
        {
          patterns: [
            {
              group: ["$lib/fake-core/*"],
              message: "Made-up data stays out of the product.",
            },
          ],
        },
      ],
    },
  },
  {
    files: ["src/lib/design/**"],
    ignores: ["**/*.stories.ts", "**/*.test.ts", "**/*.example.svelte"],
    rules: {
      "no-restricted-imports": [
        "error",
        { patterns: [{ group: ["$lib/*", "!$lib/design/*"], message: "lib/design imports nothing of ours (64)." }] },
      ],
    },
  },
);

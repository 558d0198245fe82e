/* One form being filled in: its model, its draft, and the JSON view beside it. The one façade over the plain parts
   (schema, draft, check) that components read. It sends and keeps nothing. */
import { validate, type Problem } from "./validation";
import { newDraft, cleared, EMPTY, fromJson, sameDraft, set, toggled, type, withoutSecrets, type Draft } from "./draft";
import { own, pretty, put, readJson, type Json, type JsonObject } from "./json";
import { formText } from "$lib/text/form";
import { titleOf } from "./field-text";
import { readSchema, type Control, type Field, type Model, type ReadOptions } from "./schema";

export class FormState {
  readonly model: Model;
  /** What the server suggests. */
  #newDraft: Draft = EMPTY;
  draft = $state.raw<Draft>(EMPTY);
  /** The JSON view's own text while it is edited there; null when it follows the form. */
  text = $state<string | null>(null);
  view = $state<"form" | "json">("form");
  /** Problems are shown for touched fields, and for all once a send was tried. */
  tried = $state(false);
  #touched = $state.raw<ReadonlySet<string>>(new Set());
  /** What the core refused at a field; gone as soon as something changes. */
  #refused = $state.raw<{ readonly field: string; readonly message: string } | null>(null);

  /** Problems of the JSON text itself. */
  readonly #ofText = $derived.by((): Problem | null => {
    if (this.text === null) return null;
    const read = readJson(this.text);
    if (!read.ok) return { field: null, path: "", message: formText.jsonBroken(read.line, read.column) };
    return fromJson(read.value) === null ? { field: null, path: "", message: formText.notObject } : null;
  });
  readonly problems = $derived.by((): readonly Problem[] =>
    this.#ofText ? [this.#ofText] : validate(this.model, this.draft),
  );
  readonly #byField = $derived(
    new Map(this.problems.flatMap((one) => (one.field === null ? [] : [[one.field, one.message] as const]))),
  );
  readonly isChanged = $derived(this.text !== null || !sameDraft(this.draft, this.#newDraft));
  readonly hasSecrets: boolean;
  readonly json = $derived.by(() => this.text ?? pretty(withoutSecrets(this.draft, this.model).values));

  constructor(schema: unknown, options: ReadOptions & { readonly start?: Draft | null }) {
    this.model = readSchema(schema, options);
    this.#newDraft = newDraft(this.model);
    this.draft = options.start ?? this.#newDraft;
    this.hasSecrets = this.model.fields.some((field) => field.secret);
    if (this.model.shapeless && this.model.open) this.view = "json";
  }

  /** The message at a field, when it is time to show it. */
  problemOf(name: string): string | null {
    if (this.#refused?.field === name) return this.#refused.message;
    if (!this.tried && !this.#touched.has(name)) return null;
    return this.#byField.get(name) ?? null;
  }

  /** How many are shown now. */
  get shownProblems(): number {
    return this.problems.filter((one) => this.tried || one.field === null || this.#touched.has(one.field)).length;
  }

  /** What stands in it, by the titles of its fields: for a last look before it is sent. */
  get shown(): readonly { readonly title: string; readonly value: string | null }[] {
    return this.model.fields.flatMap((field) => {
      const value = this.value(field.name);
      if (value === undefined) return [];
      const words = value === true ? formText.yes : value === false ? formText.no : value;
      return [
        {
          title: titleOf(field),
          value: field.secret ? null : typeof words === "string" ? words : JSON.stringify(words),
        },
      ];
    });
  }

  /** Fields that have a value. */
  get filled(): number {
    return this.model.fields.filter((field) => this.value(field.name) !== undefined).length;
  }

  /** The field of a form that asks only yes or no; null when it asks more, or is edited as JSON. */
  get yesNo(): Field | null {
    const [only, more] = this.model.fields;
    const asksOnce = only !== undefined && more === undefined && only.control.kind === "boolean";
    return asksOnce && !this.model.open && this.view === "form" ? only : null;
  }

  value(name: string): Json | undefined {
    return own(this.draft.values, name);
  }

  /** Shows a refusal of the core at its field. */
  refuse(field: string, message: string): void {
    this.#refused = { field, message };
  }

  set(field: Field, value: Json | undefined): void {
    this.#take(set(this.draft, field.name, value));
  }

  type(field: Field, text: string): void {
    this.#take(type(this.draft, field, text));
  }

  clear(field: Field): void {
    this.#take(cleared(this.draft, field));
  }

  toggle(field: Field, control: Extract<Control, { kind: "many" }>, value: Json, on: boolean): void {
    this.#take(toggled(this.draft, field, control, value, on));
    this.touch(field.name);
  }

  /** The person left the field: from now on it says what is wrong with it. */
  touch(name: string): void {
    if (!this.#touched.has(name)) this.#touched = new Set([...this.#touched, name]);
  }

  /** The JSON view was edited. What it says is the draft as soon as it can be read. */
  write(text: string): void {
    this.text = text;
    this.#refused = null;
    const read = readJson(text);
    const next = read.ok ? fromJson(read.value) : null;
    if (next === null) return;
    // Secrets are not in the text; what was typed in the form stays.
    let values: JsonObject = next.values;
    for (const field of this.model.fields) {
      const held = own(this.draft.values, field.name);
      if (field.secret && own(values, field.name) === undefined && held !== undefined)
        values = put(values, field.name, held);
    }
    this.draft = { values, typed: {} };
  }

  show(view: "form" | "json"): void {
    this.view = view;
    // Text that can be read has become the draft; text that cannot stays to be corrected.
    if (view === "form" && this.text !== null && readJson(this.text).ok) this.text = null;
  }

  /** Takes up a kept draft. */
  restore(draft: Draft): void {
    this.draft = draft;
    this.text = null;
  }

  /** Takes up the arguments of an earlier call; fields that look like secrets stay empty. */
  fill(draft: Draft): void {
    this.restore(withoutSecrets(draft, this.model));
    this.#refused = null;
  }

  reset(): void {
    this.restore(this.#newDraft);
    this.tried = false;
    this.#touched = new Set();
  }

  /** What would be sent, or null with the problems shown. */
  content(): JsonObject | null {
    this.tried = true;
    return this.problems.length === 0 ? this.draft.values : null;
  }

  get firstProblem(): Problem | null {
    return this.problems[0] ?? null;
  }

  /** What may be kept while the person is away. */
  get keepable(): Draft {
    return withoutSecrets(this.draft, this.model);
  }

  #take(draft: Draft): void {
    this.#refused = null;
    this.draft = draft;
    this.text = null;
  }
}

/* The six tones. Each is a pair of ink and wash in tokens.css. */
export type Tone = "attention" | "running" | "success" | "danger" | "neutral" | "stale";

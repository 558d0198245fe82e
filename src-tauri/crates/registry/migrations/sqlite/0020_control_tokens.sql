-- Control tokens, what they used of their limit, and answers kept for idempotency keys (decision 0065). Adds only.

CREATE TABLE control_tokens (
    id TEXT NOT NULL PRIMARY KEY,
    digest BLOB NOT NULL,               -- SHA-256 of the token; the token itself is nowhere
    created INTEGER NOT NULL,
    revoked INTEGER,
    body TEXT NOT NULL
) WITHOUT ROWID;
CREATE UNIQUE INDEX control_tokens_digest ON control_tokens (digest);

CREATE TABLE control_uses (
    token TEXT NOT NULL,
    at INTEGER NOT NULL,
    tasks INTEGER NOT NULL
);
CREATE INDEX control_uses_token ON control_uses (token, at);

CREATE TABLE control_answers (
    token TEXT NOT NULL,
    key TEXT NOT NULL,                  -- SHA-256 of the idempotency key, in hex
    request TEXT NOT NULL,              -- SHA-256 of the call and its body, in hex
    status INTEGER NOT NULL,
    body_sealed BLOB NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (token, key)
) WITHOUT ROWID;
CREATE INDEX control_answers_at ON control_answers (at);

-- What was signed last, with a keyed mark (decision 0115, docs/audit.md): checkpoints that go, and rows that are written anew
-- below them, do not fit it. Adds only; the next start compares the log once and writes the mark.

ALTER TABLE store ADD COLUMN signed_size INTEGER NOT NULL DEFAULT 0;
ALTER TABLE store ADD COLUMN signed_root BLOB;
ALTER TABLE store ADD COLUMN signed_begins INTEGER NOT NULL DEFAULT 0; -- 1: an epoch began there, and has no checkpoint yet
ALTER TABLE store ADD COLUMN signed_mark BLOB;

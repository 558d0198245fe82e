-- Rows of the audit log in layout 2 (docs/audit.md): the server and agent that a row is about, and a salted commitment in
-- the place of note and detail, which can then be erased. Adds only; rows from before have layout 1 and keep their hashes.

ALTER TABLE audit ADD COLUMN layout INTEGER NOT NULL DEFAULT 1;
ALTER TABLE audit ADD COLUMN server TEXT;
ALTER TABLE audit ADD COLUMN agent TEXT;
ALTER TABLE audit ADD COLUMN detail TEXT;
ALTER TABLE audit ADD COLUMN salt BLOB;
ALTER TABLE audit ADD COLUMN commitment BLOB;

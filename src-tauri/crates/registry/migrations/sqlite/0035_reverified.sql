-- How far rows that were verified before were verified again, round after round (decision 0119, docs/audit.md). The mark is a
-- keyed hash of the row's number and hash. Adds only; without it a round begins at the first row.

ALTER TABLE store ADD COLUMN reverified_number INTEGER NOT NULL DEFAULT 0;
ALTER TABLE store ADD COLUMN reverified_mark BLOB;

-- How far rows and batches of receipts that were verified before were verified again, round after round (decision 0119,
-- docs/audit.md). The marks are keyed hashes of a row's number and hash, and of a batch's number and root. Adds only; without
-- them a round begins at the first.

ALTER TABLE store ADD COLUMN reverified_number INTEGER NOT NULL DEFAULT 0;
ALTER TABLE store ADD COLUMN reverified_mark BLOB;
ALTER TABLE store ADD COLUMN reverified_batch INTEGER NOT NULL DEFAULT 0;
ALTER TABLE store ADD COLUMN reverified_batch_mark BLOB;

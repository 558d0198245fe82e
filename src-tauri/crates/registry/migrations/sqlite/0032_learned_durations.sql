-- When a duration was learned: of the tools of one server, those that finished a call longest ago are forgotten. Durations of
-- servers that were removed before are forgotten here.
ALTER TABLE durations ADD COLUMN at INTEGER NOT NULL DEFAULT 0;
DELETE FROM durations WHERE server IN (SELECT id FROM servers WHERE removed = 1);

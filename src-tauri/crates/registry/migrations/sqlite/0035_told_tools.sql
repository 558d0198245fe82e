-- Of which list of a server's tools the audit log has a row (decision 0044): a change that came too soon after another one for a
-- row of its own gets it with the next listing, also of a later run. Adds only.

ALTER TABLE tool_lists ADD COLUMN told TEXT;   -- digest; null where it is the list of now

-- When the token of an agent was made. Agents from before have the token that they were added with. A binary from before
-- adds agents with 0, which reads as the time at which the agent was added.
ALTER TABLE agents ADD COLUMN token_made INTEGER NOT NULL DEFAULT 0;
UPDATE agents SET token_made = created;

-- Answered questions, the last answered first, and those that one rule answered (decision 0040). When an answer of an
-- earlier version was given is sealed with it: its question's time stands for it in the order.
ALTER TABLE requests ADD COLUMN answered INTEGER;
ALTER TABLE requests ADD COLUMN answered_by TEXT;
UPDATE requests SET answered = opened WHERE state IN ('answered', 'confirmed');
CREATE INDEX requests_answered ON requests (answered DESC) WHERE answered IS NOT NULL;
CREATE INDEX requests_answered_by ON requests (answered_by, answered DESC) WHERE answered_by IS NOT NULL;

//! Messages as peers send them, and as they should not.

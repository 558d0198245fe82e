//! The transition rules, one test a rule, and their properties.

//! What users import: promises joined to an engine.

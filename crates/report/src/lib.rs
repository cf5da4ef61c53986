//! Findings, view models, and their rendering as text, JSON and CSV.

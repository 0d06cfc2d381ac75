"""Networks that other tools refuse, by public reports, and what becomes of them: docs/reports.md."""

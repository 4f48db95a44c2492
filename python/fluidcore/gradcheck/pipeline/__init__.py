"""A whole check, stage by stage, up to the report."""

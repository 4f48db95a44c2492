"""What a check found, and its reports: for a person (text, HTML), for programs (JSON, SARIF)."""

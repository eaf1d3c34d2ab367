"""The test suite's runner: control environments, stages, and the table of where the time went."""

"""What a program declares, as frozen nodes that know schemas and time, never an engine."""

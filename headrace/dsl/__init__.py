"""What a program is written in: streams, tables, groups and windows. They build plan nodes and nothing else."""

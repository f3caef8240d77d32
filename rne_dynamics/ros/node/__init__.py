"""What every node has: life cycle, entities, process, scheduling, command line, diagnostics."""

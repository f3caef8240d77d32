"""Control laws that follow references: each module of this folder is one, by its name; see `law_registry`."""

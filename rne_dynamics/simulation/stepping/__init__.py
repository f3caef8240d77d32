"""One step: integration, contact, events."""

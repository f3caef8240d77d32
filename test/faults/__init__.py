"""The fault campaign: named faults against the running controller, judged by the efforts that reached the topic."""

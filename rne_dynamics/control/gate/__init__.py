"""The effort gate: passes a controller's efforts on and takes the arm over when they fail."""

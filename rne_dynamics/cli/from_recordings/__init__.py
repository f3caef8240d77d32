"""Commands that compare recordings with a model, improve it, and make motions to record."""

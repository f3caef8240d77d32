"""Commands for an arm of one's own: its description, its parameters, its picture, guiding it by hand."""

"""Arguments of public dynamics functions and prescribed motion of the base."""

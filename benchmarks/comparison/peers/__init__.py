"""Other libraries, one file each, imported when needed."""

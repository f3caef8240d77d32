"""Other libraries, each imported when it is asked for, in one file of this folder."""

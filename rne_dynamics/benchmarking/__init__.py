"""`rne bench`: this package and its peers in one process, in turn, their answers compared before their times."""

"""`make bench`: this package and its peers in alternating rounds of one process; answers are compared first."""

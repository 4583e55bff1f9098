"""`python -m bers.cli`, where the command itself is not on the path."""

from bers.cli import main

main()

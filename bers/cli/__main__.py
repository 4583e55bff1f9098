"""`python -m bers.cli`, where the command itself is not on the path."""

from bers.cli import main

if __name__ == "__main__":
    main()

"""`python -m bers_studies.cli`, where the command itself is not on the path."""

from bers_studies.cli import main

if __name__ == "__main__":
    main()

"""`python -m dialwatch`."""

from dialwatch.cli import main

main()

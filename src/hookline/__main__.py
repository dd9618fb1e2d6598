"""`python -m hookline`."""

from hookline.cli.main import main

main()

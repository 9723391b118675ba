"""Command line `sapwood`: one file per command in `commands/`; `main.py` has the table of commands."""

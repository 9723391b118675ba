"""Commands of the command line, one file each. They import NumPy, Arrow and the estimators when they run, so that `--help` is fast."""

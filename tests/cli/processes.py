"""Runs the command line in processes of its own."""

import os
import signal
import subprocess
import sys

from sapwood.cli.main import main

COMMAND = [sys.executable, "-m", "sapwood"]
ENVIRONMENT = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "FORCE_COLOR")} | {"PYTHONWARNINGS": "default"}


def sapwood(*arguments, cwd=None, stdin=None, timeout=120):
    """Return the finished process; stdout and stderr are text."""
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        cwd=cwd,
        input=stdin,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def start(*arguments, cwd=None, **streams):
    """Return a running process. It is interrupted by SIGINT, even if this process runs in the background of a shell and ignores it."""

    def take_interrupts():
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    return subprocess.Popen([*COMMAND, *map(str, arguments)], cwd=cwd, env=ENVIRONMENT, text=True, preexec_fn=take_interrupts, **streams)


def call(capsys, *arguments):
    """Run the command line in this process, which is much faster, and return the same as `sapwood`."""
    code = main(list(map(str, arguments)))
    out, err = capsys.readouterr()
    return subprocess.CompletedProcess(arguments, code, out, err)


def assert_refused(run, *words):
    """Assert exit code 2, nothing on stdout, and one line on stderr that begins with the name of the program and contains words."""
    assert (run.returncode, run.stdout) == (2, ""), run
    last = run.stderr.splitlines()[-1]
    assert last.startswith("sapwood: error: "), run.stderr
    assert "Traceback" not in run.stderr
    for word in words:
        assert word in last, last

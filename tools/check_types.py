"""Check how many of the public symbols have complete type annotations, as pyright counts them.

python tools/check_types.py            fail below the threshold
python tools/check_types.py --list     print the symbols whose types are incomplete
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src"
LEAST = 0.95  # fraction of known types


def main() -> None:
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable]
    command += ["--verifytypes", "sapwood", "--ignoreexternal", "--outputjson"]
    # The import hook of an editable install is not visible to pyright: the path of the source is.
    environment = os.environ | {"PYTHONPATH": str(SOURCE), "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    try:
        report = json.loads(done.stdout)["typeCompleteness"]
    except (json.JSONDecodeError, KeyError):
        sys.exit(f"pyright failed: {done.stdout}{done.stderr}")
    symbols = [symbol for symbol in report["symbols"] if symbol["isExported"]]
    unknown = [symbol for symbol in symbols if not symbol["isTypeKnown"]]
    known = 1 - len(unknown) / len(symbols)
    if "--list" in sys.argv or known < LEAST:
        for symbol in unknown:
            messages = [one["message"].splitlines()[0] for one in symbol.get("diagnostics", [])]
            print(f"{symbol['name']}: {'; '.join(dict.fromkeys(messages)) or 'depends on a type that is incomplete'}")
    print(f"types: {known:.1%} of {len(symbols):,} public symbols are known")
    if known < LEAST:
        sys.exit(f"types: at least {LEAST:.0%} must be known")


if __name__ == "__main__":
    main()

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def test_file_is_up_to_date():
    run = subprocess.run([sys.executable, "tools/generate_flags.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr

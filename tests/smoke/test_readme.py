"""The README's Python blocks run in their order and print what their comments say."""

import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).resolve().parent.parent.parent / "README.md"


def test_readme_session_runs(tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), re.S)
    assert len(blocks) == 3
    done = subprocess.run(
        [sys.executable, "-c", "".join(blocks)], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    gradient, learned = done.stdout.strip().split("\n")
    assert gradient == "tensor([2., 4., 6.])"
    assert abs(float(learned) - 0.5) < 0.05
    assert (tmp_path / "sum.safetensors").is_file()

"""Every example runs; each asserts what it shows."""

from __future__ import annotations

import runpy
import shutil
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def test_all_are_listed() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == {
        *("paged_decode.py", "prefill.py", "sampler.py"),
        "export_aoti.py",
    }


@pytest.mark.parametrize("name", ["paged_decode", "prefill", "sampler"])
def test_example(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    assert capsys.readouterr().out


def test_export_aoti(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if shutil.which("g++") is None:
        pytest.skip("AOTInductor compiles with g++")
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "inductor"))
    package = tmp_path / "selector.pt2"
    monkeypatch.setattr("sys.argv", ["export_aoti.py", str(package)])
    runpy.run_path(str(EXAMPLES / "export_aoti.py"), run_name="__main__")
    assert package.exists()
    assert "33 rows of 5000: equal" in capsys.readouterr().out

"""The program, built as the Dockerfile builds it, a broker, and a folder of the repository."""

from __future__ import annotations

import os
import pathlib
import subprocess
from collections.abc import Callable, Iterator

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
ENVIRONMENT = {**os.environ, "LIFTSTREAM_TOKEN": "a-token"}


@pytest.fixture(scope="session")
def binary(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The static program: LIFTSTREAM_BINARY, or built here."""
    if given := os.environ.get("LIFTSTREAM_BINARY"):
        return pathlib.Path(given)
    out = tmp_path_factory.mktemp("binary") / "liftstream"
    command = ["go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -X main.version=0.0.0-test"]
    environment = {**os.environ, "CGO_ENABLED": "0"}
    subprocess.run([*command, "-o", str(out), "./cmd/liftstream"], cwd=ROOT, env=environment, check=True)
    return out


@pytest.fixture(scope="session")
def liftstream(binary: pathlib.Path) -> Callable[..., str]:
    """Runs a command line, which has to end well, and returns its output."""

    def run(*args: str | pathlib.Path) -> str:
        command = [str(binary), *map(str, args)]
        got = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, timeout=300)
        assert got.returncode == 0, f"{command}: status {got.returncode}\n{got.stdout}{got.stderr}"
        return got.stdout

    return run


@pytest.fixture
def broker(binary: pathlib.Path, tmp_path: pathlib.Path) -> Iterator[str]:
    """The address of an embedded broker."""
    command = [str(binary), "broker", "--dir", str(tmp_path / "broker"), "--listen", "127.0.0.1:0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait(60)

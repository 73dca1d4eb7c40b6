"""A stage of the votes on an embedded broker."""

from __future__ import annotations

import os
import pathlib
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.csv
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[4]
EXAMPLES = ROOT / "cmd/liftstream/examples"
PARTITIONS = 3


@pytest.fixture(scope="session")
def binary(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The program: LIFTSTREAM_BINARY, or built here."""
    if given := os.environ.get("LIFTSTREAM_BINARY"):
        return given
    out = str(tmp_path_factory.mktemp("binary") / "liftstream")
    subprocess.run(["go", "build", "-buildvcs=false", "-o", out, "./cmd/liftstream"], cwd=ROOT, check=True)
    return out


@pytest.fixture(scope="session")
def command(binary: str) -> Callable[..., str]:
    """Runs a command line, which has to end well, and returns its output."""

    def run(*args: str | pathlib.Path) -> str:
        got = subprocess.run([binary, *map(str, args)], capture_output=True, text=True, timeout=300)
        assert got.returncode == 0, f"{args}: status {got.returncode}\n{got.stdout}{got.stderr}"
        return got.stdout

    return run


@pytest.fixture(scope="session")
def votes() -> pa.Table:
    """The votes, with an id."""
    options = pa.csv.ConvertOptions(strings_can_be_null=True, null_values=[""])
    table = pa.csv.read_csv(str(EXAMPLES / "votes.csv"), convert_options=options)
    return table.append_column("member", pa.array([f"m{i}" for i in range(table.num_rows)]))


@dataclass(frozen=True)
class Stage:
    """A running stage."""

    brokers: str
    config: pathlib.Path


@pytest.fixture
def stage(binary: str, command: Callable[..., str], tmp_path: pathlib.Path) -> Iterator[Stage]:
    """Broker, topics and stage; it takes late labels."""
    line = [binary, "broker", "--dir", str(tmp_path / "broker"), "--listen", "127.0.0.1:0"]
    broker = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert broker.stdout is not None
    address = broker.stdout.readline().strip()
    text = (ROOT / "cmd/liftstream/internal/demo/votes.yaml").read_text()
    text += f"""
labels: {{window: 1h}}
topics: {{partitions: {PARTITIONS}}}
kafka: {{brokers: ["{address}"]}}
http: {{listen: "127.0.0.1:0"}}
"""
    config = tmp_path / "votes.yaml"
    config.write_text(text)
    command("topics", "create", "-c", config)
    log = (tmp_path / "run.log").open("w")
    run = subprocess.Popen([binary, "run", "-c", str(config)], stdout=log, stderr=log)
    try:
        yield Stage(address, config)
        assert run.poll() is None, (tmp_path / "run.log").read_text()
    finally:
        for process in (run, broker):
            process.terminate()
            process.wait(60)
        log.close()

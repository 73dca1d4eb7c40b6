"""Data frames scored by the program on this machine, with a fitted model and without Kafka."""

from __future__ import annotations

import pathlib
import subprocess
import tempfile
from typing import Any

import pyarrow as pa
import pyarrow.ipc

from liftstream.frames import Frame, to_table


class ScoringError(Exception):
    """Raised when the program refuses a frame; it has the words of the program."""


class LocalScorer:
    """Scores frames by 'liftstream score'. A call starts a process: score many rows at a time."""

    def __init__(
        self, config: str | pathlib.Path, model: str | pathlib.Path, *, binary: str = "liftstream", timeout: float = 600
    ) -> None:
        """config and model are files, the latter as 'liftstream fit' wrote it; timeout in seconds is that of a call."""
        self._config, self._model, self._binary, self._timeout = str(config), str(model), binary, timeout

    def score(self, frame: Frame, *, explain: bool = False) -> Any:
        """The scores of all rows as a pyarrow table, in their order. Raises ScoringError.

        explain has 'why' hold every contribution to the log-odds, not the largest alone.
        """
        table = to_table(frame)
        with tempfile.TemporaryDirectory() as folder:
            data, out = pathlib.Path(folder, "data.arrow"), pathlib.Path(folder, "scores.arrow")
            with pa.ipc.new_file(str(data), table.schema) as writer:
                writer.write_table(table)
            command = [self._binary, "score", "-q", "-c", self._config, "--model", self._model, str(data)]
            command += ["--out", str(out), *(["--explain"] if explain else [])]
            try:
                got = subprocess.run(command, capture_output=True, text=True, timeout=self._timeout, check=False)
            except FileNotFoundError as e:
                raise ScoringError(f"the program {self._binary} is missing: give its path as binary") from e
            except subprocess.TimeoutExpired as e:
                raise ScoringError(f"scoring {table.num_rows} rows took more than {self._timeout:g} s") from e
            if got.returncode != 0:
                raise ScoringError(got.stderr.strip() or f"the program ended with status {got.returncode}")
            with pa.ipc.open_file(pa.BufferReader(out.read_bytes())) as reader:
                return reader.read_all()

"""Holds the unit against systemd's own checks, and its time to stop against the program's."""

from __future__ import annotations

import pathlib
import re
import shutil
import subprocess

import pytest
from conftest import DEPLOY

UNIT = DEPLOY / "systemd/liftstream@.service"


def test_unit(binary: pathlib.Path, tmp_path: pathlib.Path) -> None:
    if not shutil.which("systemd-analyze"):
        pytest.skip("NOT PROVED: that systemd takes the unit; systemd-analyze is missing")
    unit = tmp_path / "liftstream@shop.service"
    unit.write_text(UNIT.read_text().replace("/usr/local/bin/liftstream", str(binary)))
    got = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True)
    assert got.returncode == 0 and not got.stderr, got.stderr
    # 1.4 of 10 where it was written: the network, which it needs, is the most of that.
    got = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--threshold=20", unit], capture_output=True, text=True
    )
    assert got.returncode == 0, got.stdout[-2000:] + got.stderr


def test_the_stage_has_time_to_stop() -> None:
    m = re.search(r"^TimeoutStopSec=(\d+)$", UNIT.read_text(), re.M)
    assert m and int(m[1]) >= 25, "shutdown.grace is 20s unless set"

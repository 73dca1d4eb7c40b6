"""Holds the Dockerfile against a linter, and runs the program in a copy of its last stage.

No engine for containers runs here. The copy is a folder that holds the program and nothing else, mounted read-only, as
the root of a process without rights under the account of the image. NOT PROVED here: the build inside the first stage,
cgroups and seccomp.
"""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import pytest
import yaml
from conftest import DEPLOY, ENVIRONMENT, ROOT

FOLDER = DEPLOY / "container"
DOCKERFILE = (FOLDER / "Dockerfile").read_text()
LAST = DOCKERFILE.rsplit("\nFROM ", 1)[1]
LINES = sum(1 for _ in (ROOT / "cmd/liftstream/examples/bank.csv").open()) - 1


def test_hadolint() -> None:
    hadolint = pathlib.Path(sys.executable).parent / "hadolint"
    got = subprocess.run([hadolint, FOLDER / "Dockerfile"], capture_output=True, text=True)
    assert got.returncode == 0, got.stdout + got.stderr


def test_the_compiler_is_that_of_go_mod() -> None:
    go = re.search(r"^go (\S+)$", (ROOT / "go.mod").read_text(), re.M)
    pinned = re.search(r"^ARG GO_VERSION=(\S+)$", DOCKERFILE, re.M)
    assert go and pinned and go[1] == pinned[1]


def test_the_last_stage_is_empty_and_without_rights() -> None:
    assert LAST.startswith("scratch\n")
    assert re.search(r"^USER [1-9]\d*:[1-9]\d*$", LAST, re.M)


def compose() -> dict[str, dict[str, object]]:
    return yaml.safe_load((FOLDER / "compose.yaml").read_text())["services"]


def test_compose_waits_for_services_that_are_there() -> None:
    services = compose()
    for name, s in services.items():
        waits = s.get("depends_on", {})
        assert isinstance(waits, dict) and set(waits) <= set(services), name
        if s["image"] == "liftstream:dev":
            assert s["read_only"] is True and s["cap_drop"] == ["ALL"], name
    kafka = services["kafka"]
    assert isinstance(kafka["environment"], dict)
    address = str(kafka["environment"]["KAFKA_ADVERTISED_LISTENERS"]).removeprefix("PLAINTEXT://")
    stage = yaml.safe_load((FOLDER / "liftstream.yaml").read_text())
    assert stage["kafka"]["brokers"] == [address]
    assert str(services["stage"]["stop_grace_period"]) > str(stage["shutdown"]["grace"])


def test_the_configuration_is_good(liftstream: Callable[..., str]) -> None:
    liftstream("lint", FOLDER / "liftstream.yaml")


@pytest.fixture
def image(binary: pathlib.Path, broker: str, tmp_path: pathlib.Path) -> Callable[..., list[str]]:
    """Makes command lines that run the program of the image with the files that compose.yaml mounts."""
    missing = [p for p in ("unshare", "setpriv", "chroot") if not shutil.which(p)]
    if missing or os.geteuid() != 0:
        pytest.skip(f"NOT PROVED: that the image runs without rights; root is needed, and missing is {missing}")
    root = tmp_path / "root"
    for folder in ("etc/liftstream", "data", "proc"):
        (root / folder).mkdir(parents=True)
    shutil.copy(binary, root / "liftstream")
    shutil.copy(ROOT / "cmd/liftstream/examples/bank.csv", root / "data")
    text = (FOLDER / "liftstream.yaml").read_text().replace("kafka:9092", broker)
    text = text.replace("0.0.0.0:8080", "127.0.0.1:18473")
    (root / "etc/liftstream/liftstream.yaml").write_text(text)
    for path in (tmp_path, root, *root.rglob("*")):
        path.chmod(0o755)
    (root / "data").chmod(0o777)
    user = re.search(r"^USER (\d+):(\d+)$", LAST, re.M)
    assert user
    mounted = 'mount --bind "$0" "$0" && mount -o remount,bind,ro,nosuid,nodev "$0" && exec "$@"'
    # chroot needs a right until it has changed the root; the change of the account then takes all of them.
    drop = ["--no-new-privs", "--inh-caps=-all"]
    inside = ["chroot", f"--userspec={user[1]}:{user[2]}", "--groups=", str(root), "/liftstream"]

    def line(*args: object) -> list[str]:
        command = ["unshare", "--mount", "--propagation", "private", "sh", "-c", mounted, str(root)]
        return [*command, "setpriv", *drop, *inside, *map(str, args)]

    return line


def test_the_root_cannot_be_written(image: Callable[..., list[str]]) -> None:
    """Nor the folder /data, which its account may write elsewhere."""
    line = image("fit", "-q", "-c", "/etc/liftstream/liftstream.yaml", "/data/bank.csv", "--model", "/data/bank.model")
    got = subprocess.run(line, capture_output=True, text=True, env=ENVIRONMENT)
    assert got.returncode != 0 and "read-only file system" in got.stderr, got.stdout + got.stderr


def test_the_services_of_compose_run(image: Callable[..., list[str]]) -> None:
    """Topics, stage and producer with their own command lines; then the health check, and the end."""
    services, health = compose(), re.search(r"CMD (\[.*\])\nENTRYPOINT", LAST)
    assert health
    probe = yaml.safe_load(health[1])[1:]

    def run(args: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(image(*args), capture_output=True, text=True, env=ENVIRONMENT, timeout=300)

    def command(name: str) -> list[str]:
        args = services[name]["command"]
        assert isinstance(args, list)
        return args

    made = run(command("topics"))
    assert made.returncode == 0, made.stderr
    assert run(probe).returncode == 3, "nothing runs yet"
    stage = subprocess.Popen(image(*command("stage")), stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
    try:
        wait(lambda: run(probe).returncode == 0, stage)
        ready = [a for a in probe if a != "--live"]
        wait(lambda: run(ready).returncode == 0, stage)
        produce = [{"1000": "1", "200": "0"}.get(a, a) for a in command("producer")]
        sent = run(produce)
        assert sent.returncode == 0, sent.stderr
        tail = [
            "tail",
            "-c",
            "/etc/liftstream/liftstream.yaml",
            "--from",
            "start",
            "--follow=false",
            "--format",
            "jsonl",
        ]
        wait(lambda: run(tail).stdout.count("\n") == LINES, stage)
    finally:
        stage.send_signal(signal.SIGTERM)
        _, log = stage.communicate(timeout=60)
    assert stage.returncode == 0, log


def wait(done: Callable[[], bool], stage: subprocess.Popen[str]) -> None:
    """Waits for a thing that only a broken program keeps from coming."""
    deadline = time.monotonic() + 300
    while not done():
        assert stage.poll() is None, stage.communicate()[1]
        assert time.monotonic() < deadline, "it does not come"
        time.sleep(0.2)

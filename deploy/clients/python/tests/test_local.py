"""The program scores frames on this machine, alone and as a model of MLflow."""

from __future__ import annotations

import pathlib
from collections.abc import Callable

import pyarrow as pa
import pyarrow.csv
import pytest
from conftest import EXAMPLES

import liftstream


@pytest.fixture(scope="module")
def model(command: Callable[..., str], tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    out = tmp_path_factory.mktemp("model") / "votes.model"
    command("fit", "-q", "-c", EXAMPLES / "votes.yaml", EXAMPLES / "votes.csv", "--model", out)
    return out


def test_frames_get_the_scores_of_files(
    binary: str, command: Callable[..., str], model: pathlib.Path, votes: pa.Table, tmp_path: pathlib.Path
) -> None:
    out = tmp_path / "scores.csv"
    data = EXAMPLES / "votes.csv"
    command("score", "-q", "-c", EXAMPLES / "votes.yaml", "--model", model, data, "--out", out)
    want = pa.csv.read_csv(str(out)).column("propensity_democrat").to_pylist()
    scorer = liftstream.LocalScorer(EXAMPLES / "votes.yaml", model, binary=binary)
    got = scorer.score(votes.to_pandas()).column("propensity_democrat").to_pylist()
    assert got == pytest.approx(want, abs=1e-12)


def test_errors_have_the_words_of_the_program(binary: str, model: pathlib.Path, votes: pa.Table) -> None:
    scorer = liftstream.LocalScorer(EXAMPLES / "votes.yaml", model, binary=binary)
    with pytest.raises(liftstream.ScoringError, match="column"):
        scorer.score(votes.select(["member"]))
    with pytest.raises(liftstream.ScoringError, match="/none"):
        liftstream.LocalScorer(EXAMPLES / "votes.yaml", "/none", binary=binary).score(votes)
    with pytest.raises(liftstream.ScoringError, match="is missing"):
        liftstream.LocalScorer(EXAMPLES / "votes.yaml", model, binary="/no/liftstream").score(votes)


def test_mlflow(binary: str, model: pathlib.Path, votes: pa.Table, tmp_path: pathlib.Path) -> None:
    pytest.importorskip("mlflow.pyfunc", reason="NOT PROVED: that MLflow loads the model; mlflow is missing")
    import mlflow.pyfunc

    from liftstream.mlflow_model import save_model

    config = str(EXAMPLES / "votes.yaml")
    save_model(str(tmp_path / "saved"), config=config, model=str(model), binary=binary)
    frame = votes.to_pandas()
    got = mlflow.pyfunc.load_model(str(tmp_path / "saved")).predict(frame)
    want = liftstream.LocalScorer(config, model, binary=binary).score(frame).to_pandas()
    assert got["propensity_democrat"].tolist() == want["propensity_democrat"].tolist()

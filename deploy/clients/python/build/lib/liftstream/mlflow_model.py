"""A scorecard as a model of MLflow: logged with its configuration, loaded as a pyfunc. Needs mlflow and pandas.

import mlflow.pyfunc
from liftstream.mlflow_model import save_model

save_model("bank-model", config="bank.yaml", model="bank.model", binary="/usr/local/bin/liftstream")
mlflow.pyfunc.load_model("bank-model").predict(frame)
"""

from __future__ import annotations

import os
from typing import Any

import mlflow.pyfunc

from liftstream.local import LocalScorer


class LiftstreamModel(mlflow.pyfunc.PythonModel):  # type: ignore[misc]
    """Answers a pandas frame with the scores of its rows, as a pandas frame."""

    _scorer: LocalScorer

    def load_context(self, context: Any) -> None:
        """Takes the files of the saved model. Its program must run here: it was saved for one kind of machine."""
        files = context.artifacts
        if not os.access(files["binary"], os.X_OK):  # stores of artifacts forget modes
            os.chmod(files["binary"], 0o755)
        self._scorer = LocalScorer(files["config"], files["model"], binary=files["binary"])

    def predict(self, context: Any, model_input: Any, params: dict[str, Any] | None = None) -> Any:
        """The scores; params={"explain": True} gives every contribution."""
        return self._scorer.score(model_input, explain=bool((params or {}).get("explain"))).to_pandas()


def save_model(path: str, *, config: str, model: str, binary: str, **options: Any) -> None:
    """Saves program, model and configuration as one model of MLflow; options are those of mlflow.pyfunc.save_model."""
    files = {"config": config, "model": model, "binary": binary}
    mlflow.pyfunc.save_model(path, python_model=LiftstreamModel(), artifacts=files, **options)

"""What all parts of a session share: the workspace and the choice of models."""

from __future__ import annotations

from tracklight.analysis.predictors.base import Predictor
from tracklight.analysis.what_if.workspace import Workspace


class SessionBase:
    """A workspace and its models."""

    workspace: Workspace

    @property
    def features(self) -> list[str]:
        """The columns that models get."""
        return self.workspace.features

    @property
    def models(self) -> list[str]:
        """The names of the models."""
        return [model.name for model in self.workspace.models]

    def _choose_models(self, model: str | None) -> list[Predictor]:
        if model is not None or not self.workspace.models:
            return [self.workspace.get_model(model)]
        return self.workspace.models

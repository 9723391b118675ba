"""scikit-learn's HistGradientBoosting: dense input; categories by dtype up to 255 levels, target-encoded above, as its guide advises."""

from __future__ import annotations

from typing import Any

from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import TargetEncoder

from benchmarks.quality.libraries.base import Library, OnePerOutput, dense
from benchmarks.quality.tables import Table
from benchmarks.quality.tasks import CLASSES, COMMON, COUNTS, OUTPUTS

MOST_LEVELS = 255


class ScikitLearn(Library):
    """Its threads are those of the environment: see `worker`."""

    name, title, distribution, module = "sklearn", "scikit-learn", "scikit-learn", "sklearn.ensemble"
    tasks = COMMON

    def make(self, package: Any) -> Any:
        if self.task in CLASSES:
            return package.HistGradientBoostingClassifier(random_state=self.seed)
        if self.task == OUTPUTS:
            return OnePerOutput(lambda: package.HistGradientBoostingRegressor(random_state=self.seed))
        return package.HistGradientBoostingRegressor(random_state=self.seed, **{"loss": "poisson"} if self.task == COUNTS else {})

    def convert(self, table: Table) -> Any:
        return dense(table.X)

    def fit(self, X: Any, table: Table) -> None:
        encoded = [name for name in table.categories if table.X[name].nunique() > MOST_LEVELS]
        if not encoded:
            return super().fit(X, table)
        import sklearn.ensemble

        encoder = TargetEncoder(target_type="continuous" if self.task not in CLASSES else "auto", random_state=self.seed)
        columns = make_column_transformer((encoder, encoded), remainder="passthrough", verbose_feature_names_out=False)
        model = make_pipeline(columns.set_output(transform="pandas"), self.make(sklearn.ensemble))
        arguments = {f"{model.steps[-1][0]}__{name}": value for name, value in self.fit_arguments(table).items()}
        self.model = model.fit(X, table.y, **arguments)
        return None

"""Exact SHAP values of trees: the contribution of each feature to a prediction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sapwood.data.reading import read_any
from sapwood.data.tables import Table
from sapwood.runtime import html, kernels
from sapwood.runtime.execution import Execution

if TYPE_CHECKING:
    from sapwood.model.model import Model

PAIR_NUMBERS = 1 << 22  # interaction values per kernel call; interrupts are handled between calls
VALUE_ROWS = 4096  # rows per kernel call
COLUMNS_SHOWN = 20  # in a notebook


@dataclass
class Explanation:
    """SHAP values, with the attributes and shapes of a `shap.Explanation`.

    For each row, `values` add up to the raw prediction minus `base_values`.

    Attributes
    ----------
    values : (n_rows, n_columns), with several outputs (n_rows, n_columns, n_outputs); interactions have one more axis of columns
    base_values : (n_rows,) or (n_rows, n_outputs) expected raw prediction
    data : the table that was explained
    feature_names : list of str or None
    """

    values: np.ndarray
    base_values: np.ndarray
    data: Any = None
    feature_names: list[str] | None = None

    def _repr_html_(self) -> str:
        """Return a table of the mean absolute value of each column, the largest first; with several outputs, of each output."""
        several = self.base_values.ndim == 2
        values = self.values.sum(axis=2) if self.values.ndim - several == 3 else self.values  # interactions add up to values of columns
        size = np.abs(values).mean(axis=0).reshape(values.shape[1], -1)  # (n_columns, n_outputs)
        names = self.feature_names or [f"column {c}" for c in range(len(size))]
        order = np.argsort(-size.sum(axis=1), kind="stable")[:COLUMNS_SHOWN].tolist()
        if not several:
            return self._bars(values, names)
        header = ["column", *(f"output {k}" for k in range(size.shape[1]))]
        hidden = f"; {len(size) - len(order)} columns not shown" if len(order) < len(size) else ""
        return html.table(
            header, [[names[c], *(f"{one:.4g}" for one in size[c])] for c in order], f"SHAP values of {len(values)} rows{hidden}"
        )

    def _bars(self, values: np.ndarray, names: list[str]) -> str:
        """Table of one output: of a single row, what each column adds to the base value; otherwise mean absolute values."""
        single = len(values) == 1
        size = values[0] if single else np.abs(values).mean(axis=0)
        order = np.argsort(-np.abs(size), kind="stable")[:COLUMNS_SHOWN].tolist()
        hidden = f"; {len(size) - len(order)} columns not shown" if len(order) < len(size) else ""
        if not single:
            rows = [(names[c], float(size[c])) for c in order]
            return html.bars(["column", "mean absolute value"], rows, f"SHAP values of {len(values)} rows{hidden}")
        base = float(self.base_values[0])
        caption = f"SHAP values: base value {base:.4g}, raw prediction {base + float(size.sum()):.4g}{hidden}"
        return html.bars(["column", "SHAP value"], [(names[c], float(size[c])) for c in order], caption)

    def to_shap(self) -> Any:
        """Return a `shap.Explanation`, for the plots of shap (which must be installed).

        For categorical columns, `data` has codes in alphabetical order of the levels, and `display_data` has the levels.
        """
        try:
            import shap
        except ImportError as error:
            raise ImportError(f"to_shap needs shap: pip install shap ({error})") from None
        data, shown = _plain_rows(self.data)
        return shap.Explanation(self.values, self.base_values, data, display_data=shown, feature_names=self.feature_names)


class TreeExplainer:
    """Computes SHAP values of raw predictions, by column of the table.

    All features that are encoded from one column are one player of the game. A feature that combines several columns is a player of its
    own; its SHAP value is divided equally among the columns.

    Parameters
    ----------
    n_rounds : number of rounds; None for those that prediction uses
    background : background rows for interventional SHAP values; None for path-dependent values, from the row counts of the nodes
    """

    kernel: kernels.Explainer | None

    def __init__(self, model: Model, n_rounds: int | None = None, background: Table | None = None) -> None:
        self.model = model
        self.n_trees: int = (model.n_rounds_used if n_rounds is None else n_rounds) * model.trees_per_round
        columns = [model.encoding.columns_of(f) for f in range(model.n_features)]
        self.players: list[tuple[int, ...]] = [(c,) for c in range(model.encoding.n_columns)] + sorted(
            {own for own in columns if len(own) > 1}
        )
        number = {own: i for i, own in enumerate(self.players)}
        player = np.array([number[own] for own in columns], dtype=np.int32)
        self.background: np.ndarray | None = None if background is None else self._dense(background, slice(0, background.n_rows))
        self.kernel = None
        if model.n_trees:
            arrays = model.arrays()
            weights = arrays.get("cover", arrays["count"]).astype(np.float64, copy=False)
            self.kernel = kernels.Explainer(model.scorer(), weights, player, len(self.players))

    def values(self, table: Table, execution: Execution) -> tuple[np.ndarray, np.ndarray]:
        """Return SHAP values, (n_rows, n_columns, n_outputs), and base values, (n_rows, n_outputs)."""
        n, k = len(self.players), self.model.n_outputs
        out = np.zeros((table.n_rows, k * (n + 1)))
        for rows in _blocks(table, VALUE_ROWS):
            x = self._dense(table, rows)
            if self.kernel is None:
                continue
            if self.background is None:
                self.kernel.add(x, 0, self.n_trees, out[rows], execution.n_threads)
            else:
                self.kernel.add_interventional(x, self.background, 0, self.n_trees, out[rows], execution.n_threads)
        by_output = out.reshape(table.n_rows, k, n + 1)
        return self._of_columns(by_output[:, :, :n].transpose(0, 2, 1), 1), by_output[:, :, n] + self.model.base_score

    def interactions(self, table: Table, execution: Execution) -> tuple[np.ndarray, np.ndarray]:
        """Return SHAP interaction values, (n_rows, n_columns, n_columns, n_outputs), which add up to the SHAP values, and base values."""
        n, k = len(self.players), self.model.n_outputs
        values, base = self.values(table, execution)
        out = np.zeros((table.n_rows, k * n * n))
        for rows in _blocks(table, max(1, PAIR_NUMBERS // (k * n * n))):
            if self.kernel is not None:
                self.kernel.add_interactions(self._dense(table, rows), 0, self.n_trees, out[rows], execution.n_threads)
        pairs = self._of_columns(self._of_columns(out.reshape(table.n_rows, k, n, n).transpose(0, 2, 3, 1), 1), 2)
        diagonal = np.arange(pairs.shape[1])
        pairs[:, diagonal, diagonal] = 0.0
        pairs[:, diagonal, diagonal] = values - pairs.sum(axis=2)  # main effects
        return pairs, base

    def _dense(self, table: Table, rows: slice) -> np.ndarray:
        return self.model.encoding.apply(table).dense(rows)

    def _of_columns(self, of_players: np.ndarray, axis: int) -> np.ndarray:
        """Convert values of players to values of columns along an axis."""
        n_columns = self.model.encoding.n_columns
        moved = np.moveaxis(of_players, axis, 0)
        out = moved[:n_columns].copy()
        for combined, columns in zip(moved[n_columns:], self.players[n_columns:], strict=True):
            for column in columns:
                out[column] += combined / len(columns)
        return np.moveaxis(out, 0, axis)


def _plain_rows(X: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the rows as numbers, with codes of levels; and, if there are categorical columns, the rows with their levels."""
    table = read_any(X, frozenset(), False)
    numbers = table.dense(slice(0, table.n_rows)).astype(np.float64)
    categories = table.schema.categories
    if not categories:
        return numbers, None
    shown = numbers.astype(object)
    for column in categories:
        levels = np.array([*table.schema.kind(column).levels, None], dtype=object)  # code -1 is missing: the last element
        shown[:, column] = levels[numbers[:, column].astype(np.int64)]
        numbers[numbers[:, column] < 0, column] = np.nan
    return numbers, shown


def _blocks(table: Table, most: int) -> list[slice]:
    return [slice(a, min(a + most, block.stop)) for block in table.row_blocks() for a in range(block.start, block.stop, most)]

"""Leaf model of a fit: which one the parameters mean, and where linear leaves are not supported."""

from __future__ import annotations

from sapwood.data.columns import Schema
from sapwood.losses import Loss
from sapwood.losses.ranking import RankingLoss
from sapwood.params.column_plan import ColumnPlan
from sapwood.params.signatures import ResolvedParameters
from sapwood.training.multi_output import TreePerOutput
from sapwood.training.warm_start import WarmStart
from sapwood.trees.leaf_fit import LeafFit, LinearFit

AUTO_ROWS = 1000  # from here on 'auto' means linear leaves


def make_leaf_fit(
    p: ResolvedParameters, columns: ColumnPlan, schema: Schema, loss: Loss, n_rows: int, strategy: TreePerOutput, start: WarmStart
) -> LeafFit:
    """Return how leaves are fitted. `leaf_model='auto'` is 'linear' for one output with at least 1,000 rows and a column of numbers, unless
    that is refused; a fit that continues a model has its leaf model."""
    why_not = _refusal(p, columns, loss, strategy)
    name: str = p.leaf_model
    if name == "auto":
        numbers = any(schema.kind(f).name in ("number", "bool", "datetime") for f in range(schema.n_features))
        suits = loss.n_outputs == 1 and not isinstance(loss, RankingLoss) and n_rows >= AUTO_ROWS and numbers and why_not is None
        name = start.model.leaf_model.name if start.model is not None else "linear" if suits else "constant"
    if name == "linear" and why_not is not None:
        raise ValueError(f"leaf_model='linear' cannot be combined with {why_not}; use leaf_model='constant'")
    if start.model is not None and start.model.n_trees and start.model.leaf_model.name != name:
        raise ValueError(f"{start.how} continues a model with {start.model.leaf_model.name} leaves, but leaf_model={p.leaf_model!r}")
    return LinearFit(p.linear_l2, by_path=columns.interactions is not None) if name == "linear" else LeafFit()


def _refusal(p: ResolvedParameters, columns: ColumnPlan, loss: Loss, strategy: TreePerOutput) -> str | None:
    """Return what linear leaves are not supported with, and why; None if there is nothing."""
    reasons = {
        f"loss={loss.name!r}: its leaf values are not Newton steps": loss.renews_leaves,
        f"multi_strategy={p.multi_strategy!r} where outputs share trees: a leaf has slopes for one output": strategy.shared > 0,
        "monotonic_cst: slopes do not keep the order of leaf values": columns.monotonic is not None,
        "boosting='ordered': the leaves of models of some of the rows are constant": p.boosting == "ordered",
        f"tree_method={p.tree_method!r}: slopes are fitted to bins": p.tree_method in ("exact", "approx"),
        "max_bins above 255: slopes are fitted to bins": int(columns.max_bins.max(initial=0)) > 255,
    }
    return next((reason for reason, refused in reasons.items() if refused), None)

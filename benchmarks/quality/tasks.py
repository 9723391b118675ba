"""Kinds of tables, and the loss that each is measured by."""

from __future__ import annotations

BINARY = "binary"
MULTICLASS = "multiclass"
REGRESSION = "regression"
COUNTS = "counts"
OUTPUTS = "multi-output"
RANKING = "ranking"
SURVIVAL = "survival"

CLASSES = frozenset({BINARY, MULTICLASS})
COMMON = frozenset({BINARY, MULTICLASS, REGRESSION, COUNTS, OUTPUTS})  # every library can do them: compared by rank and gap

LOSSES = {
    BINARY: "log-loss",
    MULTICLASS: "log-loss",
    REGRESSION: "RMSE / sd",
    COUNTS: "Poisson deviance",
    OUTPUTS: "RMSE / sd, mean of outputs",
    RANKING: "1 - NDCG@10",
    SURVIVAL: "1 - concordance",
}
FIRST_WORDS = {"binary": BINARY, "multiclass": MULTICLASS, "regression": REGRESSION, "ranking": RANKING, "survival": SURVIVAL}


def parse_task(text: str) -> str:
    """The task of a folder's table from its description, such as 'binary, imbalanced' or 'count, exposure (Poisson)'."""
    if "multi-output" in text:
        return OUTPUTS
    if "count" in text:
        return COUNTS
    word = text.replace(",", " ").split()[0]
    if word not in FIRST_WORDS:
        raise ValueError(f"task {text!r} is unknown; it must contain 'count' or 'multi-output', or begin with {', '.join(FIRST_WORDS)}")
    return FIRST_WORDS[word]

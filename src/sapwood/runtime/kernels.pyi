from typing import Any

import numpy as np

name: str

class GrowingTree:  # what Workspace and SortedTree share
    def __init__(self, *args: Any) -> None: ...
    def __getattr__(self, name: str) -> Any: ...

class Workspace(GrowingTree): ...

class Places:
    def __init__(self, *args: Any) -> None: ...
    def __getattr__(self, name: str) -> Any: ...

class SortedTree(GrowingTree): ...

class Lines:
    def __init__(self, *args: Any) -> None: ...
    def __getattr__(self, name: str) -> Any: ...

class TreeArrays:
    def __init__(
        self,
        *,
        begin: np.ndarray,
        feature: np.ndarray,
        threshold: np.ndarray,
        bin: np.ndarray,
        left: np.ndarray,
        right: np.ndarray,
        missing_left: np.ndarray,
        sets: np.ndarray | None = None,
    ) -> None: ...

class LeafArrays:
    def __init__(self, *, value: np.ndarray) -> None: ...

class Scorer:
    def __init__(
        self, trees: TreeArrays, leaves: LeafArrays, n_features: int, n_outputs: int, n_levels: np.ndarray | None = None
    ) -> None: ...
    def __getattr__(self, name: str) -> Any: ...

def __getattr__(name: str) -> Any: ...

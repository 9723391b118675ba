from __future__ import annotations

import os
import warnings
from os import PathLike
from pathlib import Path

from sapwood.callbacks.base import Callback, Round
from sapwood.model import disk


class SaveModel(Callback):
    """Save the model to a file every few rounds and after the last round.

    The file is a model file: `sapwood.load` reads it. It is replaced atomically, so that a reader never sees an incomplete file.
    If a file cannot be written, a warning is issued and training continues. To resume interrupted training, use `fit(checkpoint=...)`
    instead.

    Parameters
    ----------
    path : str or path
        Model file. "{round}" in the name is replaced by the number of rounds, which gives one file each time.
    every : int
        Number of rounds between files.

    Examples
    --------
    >>> latest = SaveModel("model.sapwood", every=50)
    >>> all_of_them = SaveModel("model-{round}.sapwood", every=50)
    """

    first_partition_only = True
    path: str | PathLike[str]
    every: int

    def __init__(self, path: str | PathLike[str], every: int = 10) -> None:
        if not isinstance(path, str | PathLike):
            raise TypeError(f"SaveModel: path must be a str or path-like; got {path!r}")
        if every < 1:
            raise ValueError(f"SaveModel: every must be >= 1; got {every}")
        self.path, self.every = path, every
        self._saved = -1  # number of rounds of the model saved last

    def before_training(self, state: Round) -> None:
        self._saved = state.n_rounds
        folder = Path(os.path.realpath(self._path(state))).parent
        if not folder.is_dir():
            raise FileNotFoundError(f"SaveModel(path={os.fspath(self.path)!r}): the folder {str(folder)!r} does not exist")

    def after_round(self, state: Round) -> bool:
        if state.n_rounds % self.every == 0:
            self._save(state)
        return False

    def after_training(self, state: Round) -> None:
        if state.n_rounds != self._saved:
            self._save(state)

    def _path(self, state: Round) -> str:
        return os.fspath(self.path).replace("{round}", str(state.n_rounds))

    def _save(self, state: Round) -> None:
        self._saved = state.n_rounds
        model = state.model.copy()
        model.finish(state.train_set.pages)
        try:
            disk.write(self._path(state), model.to_bytes())
        except OSError as error:  # a full disk must not end hours of training
            warnings.warn(f"SaveModel could not write the model; training continues: {error}", RuntimeWarning, stacklevel=2)

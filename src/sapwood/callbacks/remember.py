"""What a model must know of its table."""

from __future__ import annotations

from sapwood.callbacks.base import Callback, Round
from sapwood.data.columns import Schema
from sapwood.encoding.encoding import Encoding


class Remember(Callback):
    """Tells the model what its columns were and how they became features, before any other callback may save it."""

    def __init__(self, schema: Schema, encoding: Encoding) -> None:
        self.schema, self.encoding = schema, encoding

    def before_training(self, state: Round) -> None:
        state.model.schema, state.model.encoding = self.schema, self.encoding

"""Models of arrays, which have no column names, beside models of frames, which do."""

import copy

from sapwood.data.columns import Schema


def nameless_bytes(model):
    """The bytes of a model that has forgotten the names and kinds of its features: its cut points and trees."""
    bare = copy.copy(model)
    bare.schema = Schema(model.n_features)
    return bare.to_bytes()

"""
Tables larger than memory
=========================

X may be a stream of files that is read in batches. The model is that of the same rows in memory, byte for byte; ``memory_limit`` bounds the
memory of a fit.
"""

import pathlib
import tempfile

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import sapwood
from sapwood import BoostingRegressor

folder = pathlib.Path(tempfile.mkdtemp())
rng = np.random.default_rng(0)
for part in range(4):
    frame = pd.DataFrame(rng.normal(size=(5_000, 4)), columns=["a", "b", "c", "d"])
    frame["price"] = np.sin(2 * frame["a"]) + frame["b"] * (frame["c"] > 0) + 0.1 * rng.normal(size=len(frame))
    frame.to_parquet(folder / f"{part}.parquet")

# %%
# The target is the name of a column. A fit reads it first, then the features twice: for cut points and for bins.
X = sapwood.scan(folder / "*.parquet")
model = BoostingRegressor(max_iter=50, memory_limit="500MB").fit(X, "price")

# %%
# In memory, the same model.
rows = pd.concat([pd.read_parquet(path) for path in sorted(folder.glob("*.parquet"))])
in_memory = BoostingRegressor(max_iter=50).fit(rows, "price")
print("same bytes:", model.model_.to_bytes() == in_memory.model_.to_bytes())

# %%
# Predictions of a stream are arrays, one for each batch; with ``path`` they are written to a file.
predicted = np.concatenate(list(model.predict(X)))
model.predict(X, path=folder / "predicted.parquet")

plt.hexbin(rows["price"], predicted, gridsize=40, mincnt=1)
plt.axline((0, 0), slope=1, color="grey", linewidth=0.8)
plt.xlabel("price")
plt.ylabel("predicted")
plt.show()

"""
Missing values
==============

Missing values need no preparation: every node learns which side they go to. Here the fact that a value is missing is informative.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline

from sapwood import BoostingRegressor

rng = np.random.default_rng(0)
X = rng.uniform(size=(3000, 3))
y = 2 * X[:, 0] + np.sin(6 * X[:, 1]) + rng.normal(0, 0.1, 3000)
absent = rng.random(3000) < np.where(y > 1.5, 0.6, 0.1)  # large targets are missing more often
X[absent, 0] = np.nan
train, test = slice(0, 2000), slice(2000, None)

# %%
# NaN, None and masked entries are missing. `missing=` lists further values, such as -999.

native = BoostingRegressor().fit(X[train], y[train])
imputed = make_pipeline(SimpleImputer(), BoostingRegressor()).fit(X[train], y[train])
scores = {"native": native.score(X[test], y[test]), "mean imputation": imputed.score(X[test], y[test])}
print(scores)

# %%
# The first split of the first tree that uses column 0 shows where missing values go.

from sapwood import plots  # noqa: E402

plots.plot_tree(BoostingRegressor(max_iter=1, max_leaf_nodes=4).fit(X[train], y[train]), 0)
plt.show()

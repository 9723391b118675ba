"""
Claims with exposure
====================

Counts are modelled with `loss="poisson"`. If rows were observed for different lengths of time, the logarithm of that exposure is the
`offset`: predictions without an offset are then frequencies, the number of claims for an exposure of 1.
"""

import matplotlib.pyplot as plt
import numpy as np

from sapwood import BoostingRegressor
from sapwood.datasets import make_claims

X, n_claims, exposure = make_claims(20_000)
train, test = slice(0, 15_000), slice(15_000, None)
model = BoostingRegressor(loss="poisson", max_iter=60, max_leaf_nodes=8, min_samples_leaf=100, early_stopping=False)
model.fit(X[train], n_claims[train], offset=np.log(exposure[train]))
frequency = model.predict(X[test])
expected = model.predict(X[test], offset=np.log(exposure[test]))
print("claims, expected claims:", n_claims[test].sum(), round(expected.sum(), 1))

# %%
# Observed and predicted frequency by age: claims divided by exposure.

age = X["driver_age"][test].to_numpy()
groups = np.digitize(age, [22, 26, 30, 40, 50, 60, 70])
seen = [n_claims[test][groups == g].sum() / exposure[test][groups == g].sum() for g in range(8)]
predicted = [np.average(frequency[groups == g], weights=exposure[test][groups == g]) for g in range(8)]
figure, axis = plt.subplots(figsize=(6, 3.5))
axis.plot(seen, "o", label="observed")
axis.plot(predicted, "-", label="predicted")
axis.set_xticks(range(8), ["18-21", "22-25", "26-29", "30-39", "40-49", "50-59", "60-69", "70+"])
axis.set_xlabel("age of the driver")
axis.set_ylabel("claims per year")
axis.legend()
plt.show()

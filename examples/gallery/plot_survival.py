"""
Survival functions
==================

Times until an event, some of them censored: the event had not happened when the observation ended.
"""

import matplotlib.pyplot as plt
import numpy as np

from sapwood import BoostingRegressor
from sapwood.datasets import make_survival

X, y = make_survival(2000)  # y: time, event
train, test = slice(0, 1500), slice(1500, None)
cox = BoostingRegressor(loss="cox", max_iter=50, max_leaf_nodes=8).fit(X[train], y[train]).fit_baseline(X[train], y[train])
print(f"concordance: {cox.score(X[test], y[test]):.3f}")

# %%
# The survival function is the probability that the event has not happened by a time.

times = np.linspace(0, np.quantile(y[:, 0], 0.95), 100)
rows = X[test][np.argsort(cox.predict(X[test]))[[25, 250, 475]]]
figure, axis = plt.subplots(figsize=(6, 3.5))
for label, line in zip(("low hazard", "median", "high hazard"), cox.predict_survival_function(rows, times), strict=True):
    axis.plot(times, line, label=label)
axis.set_xlabel("time")
axis.set_ylabel("probability of no event")
axis.legend()
plt.show()

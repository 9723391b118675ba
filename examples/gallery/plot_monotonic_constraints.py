"""
Monotonic constraints and partial dependence
============================================

Constraints keep the prediction from falling (1) or rising (-1) with a feature, whatever the noise.
"""

import matplotlib.pyplot as plt
import numpy as np

from sapwood import BoostingRegressor
from sapwood.inspection import partial_dependence

rng = np.random.default_rng(0)
X = rng.uniform(size=(800, 2))
y = 5 * X[:, 0] + np.sin(10 * np.pi * X[:, 0]) - 5 * X[:, 1] - np.cos(10 * np.pi * X[:, 1]) + rng.normal(0, 0.8, 800)

free = BoostingRegressor().fit(X, y)
constrained = BoostingRegressor(monotonic_cst=[1, -1]).fit(X, y)

# %%
# Partial dependence shows the effect of one column, averaged over the others.

figure, axes = plt.subplots(1, 2, figsize=(9, 3.5), sharey=True)
for column, axis in enumerate(axes):
    for name, model in (("free", free), ("constrained", constrained)):
        dependence = partial_dependence(model, X, column)
        axis.plot(dependence.values[0], dependence.average[0], label=name)
    axis.set_xlabel(f"column {column}")
axes[0].set_ylabel("partial dependence")
axes[0].legend()
plt.show()

# %%
# The constraint holds for every single row, not only on average.

grid = np.linspace(0, 1, 200)
lines = np.array([constrained.predict(np.column_stack([grid, np.full(200, other)])) for other in (0.1, 0.5, 0.9)])
print("smallest step:", np.diff(lines).min())

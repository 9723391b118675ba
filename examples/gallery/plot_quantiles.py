"""
Quantiles
=========

Several quantiles are predicted by one model and do not cross.
"""

import matplotlib.pyplot as plt
import numpy as np

from sapwood import BoostingRegressor

rng = np.random.default_rng(0)
X = rng.uniform(0, 10, size=(3000, 1))
y = np.sin(X[:, 0]) + rng.normal(0, 0.1 + X[:, 0] / 15)
model = BoostingRegressor(loss="quantile", quantile=[0.05, 0.5, 0.95], max_leaf_nodes=8, min_samples_leaf=50).fit(X, y)
grid = np.linspace(0, 10, 400)[:, None]
low, median, high = model.predict(grid).T

figure, axis = plt.subplots(figsize=(7, 4))
axis.scatter(X[:, 0], y, s=2, alpha=0.3, color="gray")
axis.fill_between(grid[:, 0], low, high, alpha=0.3, label="5 % to 95 %")
axis.plot(grid[:, 0], median, label="median")
axis.legend()
plt.show()

# %%
# The quantiles are estimates. For a guaranteed coverage of new rows see :ref:`sphx_glr_gallery_plot_conformal.py`.

new = rng.uniform(0, 10, size=(3000, 1))
new_y = np.sin(new[:, 0]) + rng.normal(0, 0.1 + new[:, 0] / 15)
low, median, high = model.predict(new).T
print(f"coverage of new rows: {np.mean((low <= new_y) & (new_y <= high)):.3f}")

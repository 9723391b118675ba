"""
A custom loss
=============

A loss is a class with a gradient and a hessian in NumPy, or just a function. This one penalizes predictions that are too low four times
as much as those that are too high.
"""

import matplotlib.pyplot as plt
import numpy as np

from sapwood import BoostingRegressor, Loss, check_loss


class Asymmetric(Loss):
    """Squared error with a larger weight on negative residuals: loss = weight * (raw - y)^2 / 2."""

    def weight(self, y, raw):
        return np.where(raw < y, 4.0, 1.0)

    def values(self, y, raw):
        return self.weight(y, raw) * (raw - y) ** 2 / 2

    def gradients(self, y, raw):
        return self.weight(y, raw) * (raw - y), self.weight(y, raw)


# %%
# `check_loss` compares the gradient with numerical derivatives of the values.

check_loss(Asymmetric())

rng = np.random.default_rng(0)
X = rng.uniform(0, 6, size=(2000, 1))
y = np.sin(X[:, 0]) + rng.normal(0, 0.4, 2000)
grid = np.linspace(0, 6, 300)[:, None]
figure, axis = plt.subplots(figsize=(6, 3.5))
axis.scatter(X[:, 0], y, s=2, alpha=0.3, color="gray")
for label, loss in (("squared error", "squared_error"), ("asymmetric", Asymmetric())):
    model = BoostingRegressor(loss=loss, max_leaf_nodes=8).fit(X, y)
    axis.plot(grid[:, 0], model.predict(grid), label=label)
axis.legend()
plt.show()

# %%
# The same as a function of y and the raw predictions:


def asymmetric(y, raw):
    weight = np.where(raw < y, 4.0, 1.0)
    return weight * (raw - y), weight


print(f"{BoostingRegressor(loss=asymmetric, max_leaf_nodes=8).fit(X, y).predict(grid).mean():.3f}")

"""
Calibration and conformal prediction
====================================

Probabilities that mean what they say, and intervals that cover a chosen fraction of new rows.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss

from sapwood import BoostingClassifier, plots
from sapwood.uncertainty import CalibratedClassifier, ConformalClassifier, ConformalRegressor

X, y = make_classification(4000, 20, n_informative=5, flip_y=0.2, random_state=0)
train, test = slice(0, 3000), slice(3000, None)
overfitted = BoostingClassifier(max_iter=300, early_stopping=False)
models = {"overfitted": overfitted.fit(X[train], y[train]), "calibrated": CalibratedClassifier(overfitted).fit(X[train], y[train])}
for name, model in models.items():
    print(f"{name}: log loss {log_loss(y[test], model.predict_proba(X[test])):.3f}")

# %%

plots.plot_calibration(models, X[test], y[test])
plt.show()

# %%
# Sets of classes that contain the true class with probability 0.9, and intervals that cover 90 % of new rows:

sets = ConformalClassifier(BoostingClassifier(max_iter=50), confidence_level=0.9).fit(X[train], y[train]).predict_set(X[test])
print(f"sets contain the class in {sets[np.arange(len(sets)), y[test]].mean():.3f} of the rows")

rng = np.random.default_rng(0)
X = rng.uniform(size=(3000, 2))
y = X[:, 0] + X[:, 1] * rng.normal(size=3000)
for adaptive in (False, True):
    intervals = ConformalRegressor(adaptive=adaptive, confidence_level=0.9).fit(X[:2000], y[:2000]).predict_interval(X[2000:])
    covered = (intervals[:, 0] <= y[2000:]) & (y[2000:] <= intervals[:, 1])
    print(f"adaptive={adaptive}: coverage {covered.mean():.3f}, mean width {np.diff(intervals).mean():.2f}")

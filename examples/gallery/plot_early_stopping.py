"""
Early stopping and learning curves
==================================

Training stops when the score of an evaluation set no longer improves; predictions use the best round.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from sapwood import BoostingClassifier, plots

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X_train, X_valid, y_train, y_valid = train_test_split(X, y, random_state=0, stratify=y)
model = BoostingClassifier(max_iter=500, early_stopping=True, n_iter_no_change=20)
model.fit(X_train, y_train, eval_sets={"valid": (X_valid, y_valid)}, eval_metric=["log_loss", "roc_auc"])
print("rounds trained:", model.n_iter_, "rounds used:", model.best_iteration_)

# %%

plots.plot_learning_curves(model)
plt.show()

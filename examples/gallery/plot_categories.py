"""
Categories of few and many levels
=================================

Columns of strings and categories are found by their dtype. Splits separate sets of levels (`"partition"`); columns with many levels are
encoded by ordered target statistics (`"target"`). `"auto"`, the default, chooses by the number of levels.
"""

import matplotlib.pyplot as plt

from sapwood import BoostingRegressor
from sapwood.datasets import make_sales

X, sales = make_sales(6000, n_stores=400)
train, test = slice(0, 4500), slice(4500, None)
scores = {}
for encoding in ("auto", "partition", "onehot", "target", "count"):
    model = BoostingRegressor(categorical_encoding=encoding, datetime_features="auto", max_iter=300).fit(X[train], sales[train])
    scores[encoding] = model.score(X[test], sales[test])
figure, axis = plt.subplots(figsize=(6, 3))
axis.barh(list(scores), list(scores.values()))
axis.invert_yaxis()
axis.set_xlabel("R² of test rows")
plt.show()

# %%
# `describe_features` shows how each column was read.

print(BoostingRegressor(datetime_features="auto", max_iter=10).fit(X, sales).describe_features())

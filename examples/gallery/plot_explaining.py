"""
Explaining predictions
======================

Shapley values divide a prediction among the columns, exactly. They add up to the raw prediction.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from sapwood import BoostingRegressor, plots

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
model = BoostingRegressor(max_iter=60, max_leaf_nodes=8).fit(X, y)
explanation = model.explain(X)
print("one row:", dict(zip(X.columns, explanation.values[0].round(1), strict=True)))
print("sum:", explanation.values[0].sum() + explanation.base_values[0], "prediction:", model.predict(X.iloc[:1])[0])

# %%
# All rows: each dot is a row, its place the Shapley value, its color the value of the column.

plots.plot_shap_summary(explanation)
plt.show()

# %%
# Importances of several kinds; permutation importance needs data.

for kind in ("gain", "split", "shap", "permutation"):
    values = model.importances(kind, X, y) if kind in ("shap", "permutation") else model.importances(kind)
    print(kind, [str(X.columns[c]) for c in np.argsort(values)[::-1][:3]])
plots.plot_dependence(model, X, "bmi")
plt.show()

"""
Model surgery
=============

Fitted models can be cut, continued, refitted to new data, merged and exported.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import sapwood
from sapwood import BoostingClassifier

X, y = load_digits(return_X_y=True)
X_train, y_train, X_test, y_test = X[:1200], y[:1200] >= 5, X[1200:], y[1200:] >= 5
model = BoostingClassifier(max_iter=60, early_stopping=False).fit(X_train, y_train)

# %%
# Cut: the first rounds are a model of their own; slices add up.

head, tail = model[:20], model[20:]
print(np.allclose(head.decision_function(X_test) + tail.decision_function(X_test), model.decision_function(X_test)))

# %%
# Continue: 40 more rounds from the cut model give the model back, byte for byte.

continued = BoostingClassifier(max_iter=40, early_stopping=False).fit(X_train, y_train, init_model=head)
print(np.array_equal(continued.decision_function(X_test), model.decision_function(X_test)))

# %%
# Refit the leaf values to new rows, keeping the splits, or merge two models into one:

shifted = model.refit(X_test[:200], y_test[:200], decay=0.5)
other = BoostingClassifier(max_iter=60, early_stopping=False, random_state=1, subsample=0.5).fit(X_train, y_train)
merged = sapwood.merge([model, other], weights=[0.5, 0.5])
print(f"refitted {shifted.score(X_test[200:], y_test[200:]):.3f}, merged {merged.score(X_test[200:], y_test[200:]):.3f}")

# %%
# Accuracy by the number of rounds, and the model as C source:

accuracy = [np.mean(predicted == y_test) for predicted in merged.staged_predict(X_test)]
figure, axis = plt.subplots(figsize=(6, 3))
axis.plot(range(1, len(accuracy) + 1), accuracy)
axis.set_xlabel("rounds")
axis.set_ylabel("accuracy of test rows")
plt.show()
print(merged.export("c")[:200])

"""
Sparse text
===========

Words become a sparse matrix of counts, which stays sparse in training and prediction.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from sapwood import BoostingClassifier

rng = np.random.default_rng(0)
words = np.array([f"word{i}" for i in range(2000)])
good, bad = ["excellent", "great", "love"], ["awful", "broken", "refund"]
labels = rng.integers(0, 2, 1500)
texts = [" ".join([*rng.choice(words, 30), *rng.choice(good if label else bad, rng.integers(0, 3))]) for label in labels]

model = make_pipeline(CountVectorizer(), BoostingClassifier(min_samples_leaf=5)).fit(texts[:1000], labels[:1000])
print(f"accuracy: {model.score(texts[1000:], labels[1000:]):.3f}")
print("table:", model[0].transform(texts).shape, "stored entries:", model[0].transform(texts).nnz)

# %%
# The words that the model uses most:

importances, names = model[-1].feature_importances_, model[0].get_feature_names_out()
top = np.argsort(importances)[::-1][:8]
figure, axis = plt.subplots(figsize=(6, 3))
axis.barh(names[top], importances[top])
axis.invert_yaxis()
axis.set_xlabel("importance (gain)")
plt.show()

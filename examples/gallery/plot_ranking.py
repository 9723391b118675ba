"""
Ranking
=======

`BoostingRanker` orders the rows of each query. `qid` is the query of each row.
"""

import matplotlib.pyplot as plt
from sklearn.model_selection import GroupShuffleSplit

from sapwood import BoostingRanker, plots
from sapwood.datasets import make_queries

X, relevance, qid = make_queries(300)
train, test = next(GroupShuffleSplit(random_state=0).split(X, groups=qid))
for loss in ("lambdamart", "pairwise", "xendcg"):
    model = BoostingRanker(loss=loss, max_iter=200).fit(X[train], relevance[train], qid=qid[train])
    print(loss, f"NDCG {model.score(X[test], relevance[test], qid=qid[test]):.4f}")

# %%
# The relevance depends on the first three columns.

plots.plot_importance(model)
plt.show()

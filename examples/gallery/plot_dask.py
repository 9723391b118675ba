"""
Dask
====

``sapwood.dask`` trains on the workers of a cluster, where the rows are. The model is that of the same rows on one machine, byte for byte.
"""

import dask.dataframe as dd
import matplotlib.pyplot as plt
import numpy as np
from dask.distributed import Client

from sapwood import BoostingRegressor, plots
from sapwood.dask import DaskBoostingRegressor
from sapwood.datasets import make_sales

X, y = make_sales(2_000)
rows = X.assign(sales=y)

# %%
# A cluster of two workers in this process; ``Client("scheduler:8786")`` for one of machines.
with Client(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None) as client:
    frame = dd.from_pandas(rows, npartitions=4)
    model = DaskBoostingRegressor(client=client, max_iter=20).fit(frame, "sales")
    predicted = model.predict(frame).compute()  # predictions are lazy, and computed by the workers

# %%
# On one machine, the same model.
local = BoostingRegressor(max_iter=20).fit(rows, "sales")
print("same bytes:", model.model_.to_bytes() == local.model_.to_bytes())
print("same predictions:", np.array_equal(predicted, local.predict(X)))

# %%
# What workers sent to each other, and how long they waited for it:
print(model.communication_)

plots.plot_importance(local)
plt.show()

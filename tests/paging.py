"""Binned rows in several pages."""

import numpy as np

from sapwood.data.pages import Pages


def cut(pages, n_pages):
    """The rows of a single page in several."""
    (page,) = pages.pages
    parts = np.array_split(np.arange(page.n_rows), n_pages)
    starts = np.cumsum([0, *map(len, parts)])
    return Pages(pages.layout, [page.take(rows, int(start)) for rows, start in zip(parts, starts[:-1], strict=True)])

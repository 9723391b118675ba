"""Reports: one HTML file about a model and rows, and a live page during training.

Reading order: `writing` -> `subject` (the model, its predictions) -> `sections` (one file each) -> `page` (HTML). The charts are drawn in
the browser by the script in `assets`, whose source is in the folder `web` of the repository.
"""

from sapwood.report.live import LiveReport
from sapwood.report.writing import render, write_report

__all__ = ["LiveReport", "render", "write_report"]

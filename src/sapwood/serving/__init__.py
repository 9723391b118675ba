"""HTTP server of predictions: `schema.py` describes the columns, `predictor.py` predicts the rows of a body, `app.py` has the endpoints."""

from sapwood.serving.app import make_app

__all__ = ["make_app"]

"""Encoders of categorical columns: sets of levels, target statistics, counts. `ENCODERS` is the table."""

from __future__ import annotations

from sapwood.encoding.base import Encoder
from sapwood.encoding.count import Count
from sapwood.encoding.levels import OneHot, Partition
from sapwood.encoding.target import Target
from sapwood.encoding.target_cv import CrossFittedTarget

ENCODERS: dict[str, type[Encoder]] = {encoder.name: encoder for encoder in (OneHot, Partition, Target, CrossFittedTarget, Count)}

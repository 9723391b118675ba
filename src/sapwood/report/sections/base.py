"""Section of a report."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sapwood.report.markup import Html


@dataclass(frozen=True)
class Section:
    """Section of a report.

    Attributes
    ----------
    name : name in the address of the section
    title : heading
    html : text and tables
    data : data of its charts, as JSON data
    findings : sentences for the summary at the top of the page
    """

    name: str
    title: str
    html: Html
    data: dict[str, Any] = field(default_factory=dict)
    findings: list[str] = field(default_factory=list)

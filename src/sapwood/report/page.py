"""The HTML page: sections, styles, script and data in one file."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Any

from sapwood.report.markup import Html, element, join
from sapwood.report.payload import pack
from sapwood.report.sections.base import Section
from sapwood.version import __version__


@cache
def asset(name: str) -> str:
    """Return the text of a file of the package: the bundled script or the styles."""
    return resources.files("sapwood.report").joinpath("assets", name).read_text(encoding="utf-8")


def render_page(title: str, header: Html, sections: Sequence[Section], shared: dict[str, Any], live: bool = False) -> str:
    """Return the page. It loads nothing: a content security policy allows its own script and styles only; with `live`, also events.

    Parameters
    ----------
    shared : data that several sections use
    live : whether the page updates itself from `events`, next to its address
    """
    script, style = asset("report.js"), asset("report.css")
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    if live:
        policy += "; connect-src 'self'"
    data = {"sections": {section.name: section.data for section in sections}, "live": live, **shared}
    links = [element("li", element("a", section.title, href=f"#{section.name}")) for section in sections]
    menu = element("nav", element("details", element("summary", "Contents"), element("ol", *links), open=True), aria_label="Contents")
    body = [
        element(
            "section",
            element("h2", section.title, id=f"{section.name}-title"),
            section.html,
            id=section.name,
            aria_labelledby=f"{section.name}-title",
        )
        for section in sections
    ]
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="generator", content=f"Sapwood {__version__}"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        Html(f"<style>{style}</style>"),
    )
    page = element(
        "body",
        element("a", "Skip to the content", href="#content", class_="skip"),
        element("div", menu, element("main", header, *body, id="content", tabindex="-1"), class_="layout"),
        element("footer", f"Written by Sapwood {__version__}. This file is complete: it needs no network."),
        element("noscript", element("p", "Charts need JavaScript; the text and tables do not.")),
        element("script", pack(data), type="application/octet-stream", id="report-data"),
        Html(f"<script>{script}</script>"),
    )
    return f"<!doctype html>\n{element('html', head, page, lang='en')}\n"


def _hash(script: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def page_header(title: str, subtitle: str, cards: Sequence[tuple[str, str, str]], findings: Sequence[str]) -> Html:
    """Return the head of the page: title, a few numbers, and findings."""
    boxes = [
        element("div", element("dt", name), element("dd", value, element("small", more) if more else None), class_="card")
        for name, value, more in cards
    ]
    found = element("ul", *(element("li", text) for text in findings), class_="findings") if findings else None
    button = element("button", "Dark", type="button", id="theme", aria_pressed="false")
    return join(
        [
            element("header", element("div", element("h1", title), button, class_="title"), element("p", subtitle, class_="subtitle")),
            element("dl", *boxes, class_="cards"),
            element("section", element("h2", "Findings", id="findings-title"), found, aria_labelledby="findings-title") if found else None,
        ]
    )

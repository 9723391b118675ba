"""HTML elements. Text is escaped unless it is `Html` already, so that no name or level can become markup."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

EMPTY_ELEMENTS = ("br", "img", "input", "meta")


class Html(str):
    """Text that is HTML."""


def element(tag: str, *children: Any, **attributes: Any) -> Html:
    """Return an element. An underscore in the name of an attribute becomes a hyphen; None and False omit it, True has no value.

    Examples
    --------
    >>> element("p", "1 < 2", class_="note")
    '<p class="note">1 &lt; 2</p>'
    """
    opening = tag
    for name, value in attributes.items():
        if value is not None and value is not False:
            key = name.rstrip("_").replace("_", "-")
            opening += f" {key}" if value is True else f' {key}="{escape(str(value))}"'
    return Html(f"<{opening}>" if tag in EMPTY_ELEMENTS else f"<{opening}>{join(children)}</{tag}>")


def join(parts: Iterable[Any]) -> Html:
    """Return the HTML of several parts; None is omitted."""
    return Html("".join(part if isinstance(part, Html) else escape(str(part)) for part in parts if part is not None))


def table(header: Sequence[Any], rows: Iterable[Sequence[Any]], caption: str, *, numeric: Sequence[int] = (), wide: bool = False) -> Html:
    """Return a table with a caption. The first cell of a row is its header; `numeric` are columns that are aligned at the right."""

    def cell(i: int, content: Any) -> Html:
        kind = "number" if i in numeric else None
        return element("td", content, class_=kind) if i else element("th", content, scope="row")

    head = element("tr", *(element("th", name, scope="col", class_="number" if i in numeric else None) for i, name in enumerate(header)))
    body = [element("tr", *(cell(i, content) for i, content in enumerate(row))) for row in rows]
    whole = element("table", element("caption", caption), element("thead", head), element("tbody", *body), class_="wide" if wide else None)
    return element("div", whole, class_="scroll", tabindex="0", role="region", aria_label=caption)


def facts(pairs: Iterable[tuple[str, Any]]) -> Html:
    """Return a description list."""
    return element("dl", *(element("div", element("dt", name), element("dd", value)) for name, value in pairs), class_="facts")


def chart(name: str, caption: str, **attributes: Any) -> Html:
    """Return the place of a chart, which the page's script draws."""
    return element(
        "figure",
        element("div", class_="plot", id=f"plot-{name}"),
        element("figcaption", caption),
        data_chart=name,
        class_="chart",
        **attributes,
    )


def note(text: Any) -> Html:
    return element("p", text, class_="note")


def number(value: float | None, digits: int = 4) -> str:
    """Format a number for people; a dash for None and NaN."""
    if value is None or value != value:
        return "–"
    if value and (abs(value) >= 1e6 or abs(value) < 1e-4):
        return f"{value:.{digits - 1}g}"
    if abs(value) >= 1000 or float(value).is_integer():
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"


def percent(value: float | None) -> str:
    return "–" if value is None or value != value else f"{value:.1%}"


def plural(n: int, noun: str) -> str:
    """Return a count with its noun.

    Examples
    --------
    >>> plural(1, "row"), plural(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"

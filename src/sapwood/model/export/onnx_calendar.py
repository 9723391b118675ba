"""Calendar parts of datetimes as ONNX operators on integers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sapwood.encoding.calendar import DAY, HOUR, MINUTE, SECOND
from sapwood.runtime.caching import cached_property

if TYPE_CHECKING:
    from sapwood.model.export.onnx import Onnx


class Clock:
    """Calendar parts of datetimes in microseconds since 1970.

    Dates are computed by Hinnant's "chrono-compatible low-level date algorithms": years begin in March, and an era has 400 years.

    Parameters
    ----------
    graph : graph to add operators to
    moments : name of the column, (n_rows, 1) doubles
    ahead : offset from UTC in microseconds
    """

    days: str
    time: str

    def __init__(self, graph: Onnx, moments: str, ahead: int) -> None:
        self.graph = graph
        self.unknown: str = graph.operate("IsNaN", [graph.operate("Sub", [moments, moments])])
        safe = graph.operate("Where", [self.unknown, graph.constant(np.array([[0.0]])), moments])
        whole = graph.operate("Cast", [graph.operate("Floor", [safe])], to=graph.onnx.TensorProto.INT64)
        wall = self._add(whole, ahead)
        self.days, self.time = self._divide(wall, DAY), self._rest(wall, DAY)

    def part(self, name: str) -> str:
        """Return a part as (n_rows, 1) doubles; NaN for missing datetimes."""
        number = self.graph.operate("Cast", [getattr(self, name)], to=self.graph.onnx.TensorProto.DOUBLE)
        return self.graph.operate("Where", [self.unknown, self.graph.constant(np.array([[np.nan]])), number])

    @cached_property
    def weekday(self) -> str:
        return self._rest(self._add(self.days, 3), 7)

    @cached_property
    def _date(self) -> tuple[str, str, str]:
        return self._civil(self.days)

    @property
    def year(self) -> str:
        return self._date[0]

    @property
    def month(self) -> str:
        return self._date[1]

    @property
    def day(self) -> str:
        return self._date[2]

    @property
    def quarter(self) -> str:
        return self._divide(self._add(self.month, 2), 3)

    @property
    def week(self) -> str:
        thursday = self._add(self._subtract(self.days, self.weekday), 3)
        return self._add(self._divide(self._subtract(thursday, self._begin_of(self._civil(thursday)[0])), 7), 1)

    @property
    def dayofyear(self) -> str:
        return self._add(self._subtract(self.days, self._begin_of(self.year)), 1)

    @property
    def hour(self) -> str:
        return self._divide(self.time, HOUR)

    @property
    def minute(self) -> str:
        return self._rest(self._divide(self.time, MINUTE), 60)

    @property
    def second(self) -> str:
        return self._rest(self._divide(self.time, SECOND), 60)

    def _civil(self, days: str) -> tuple[str, str, str]:
        """Return year, month and day."""
        z = self._add(days, 719468)
        era, of_era = self._divide(z, 146097), self._rest(z, 146097)
        leap = self._add(self._subtract(of_era, self._divide(of_era, 1460)), self._divide(of_era, 36524))
        year = self._divide(self._subtract(leap, self._divide(of_era, 146096)), 365)
        of_year = self._subtract(of_era, self._days_of_years(year))
        march = self._divide(self._add(self._times(of_year, 5), 2), 153)
        day = self._add(self._subtract(of_year, self._divide(self._add(self._times(march, 153), 2), 5)), 1)
        month = self._add(self._rest(self._add(march, 2), 12), 1)
        return self._add(self._add(year, self._times(era, 400)), self._divide(march, 10)), month, day

    def _begin_of(self, year: str) -> str:
        """Return the first day of a year, in days since 1970."""
        before = self._add(year, -1)
        era, of_era = self._divide(before, 400), self._rest(before, 400)
        return self._add(self._add(self._times(era, 146097), self._days_of_years(of_era)), 306 - 719468)

    def _days_of_years(self, years: str) -> str:
        leap = self._subtract(self._divide(years, 4), self._divide(years, 100))
        return self._add(self._times(years, 365), leap)

    # Integer arithmetic

    def _with(self, operator: str, a: str, b: str | int) -> str:
        return self.graph.operate(operator, [a, self.graph.constant(np.array([[b]], dtype=np.int64)) if isinstance(b, int) else b])

    def _add(self, a: str, b: str | int) -> str:
        return self._with("Add", a, b)

    def _subtract(self, a: str, b: str) -> str:
        return self._with("Sub", a, b)

    def _times(self, a: str, b: int) -> str:
        return self._with("Mul", a, b)

    def _rest(self, a: str, b: int) -> str:
        """Return the non-negative remainder, also for negative numbers."""
        return self._with("Mod", a, b)

    def _divide(self, a: str, b: int) -> str:
        """Return the quotient rounded down, also for negative numbers."""
        return self._with("Div", self._subtract(a, self._rest(a, b)), b)

"""Calendar parts of datetimes: the month, the day of the week, the hour, ... on the clock of the column's time zone."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from dataclasses import dataclass
from zoneinfo import ZoneInfo

import numpy as np

from sapwood.data.columns import ColumnError

DAY, HOUR, MINUTE, SECOND = 86_400_000_000, 3_600_000_000, 60_000_000, 1_000_000  # microseconds
FIXED = re.compile(r"(?:UTC)?([+-])(\d\d):?(\d\d)")  # a zone that is just a distance
THURSDAY = 3  # which the first day of 1970 was, counted from Monday; and whose year a week belongs to


def _since(days: np.ndarray, unit: str) -> np.ndarray:
    """Days since the month or year began."""
    dates = days.astype("M8[D]")
    return (dates - dates.astype(f"M8[{unit}]").astype("M8[D]")).astype(np.int64)


def _month(days: np.ndarray) -> np.ndarray:
    return days.astype("M8[D]").astype("M8[M]").astype(np.int64) % 12 + 1


def _weekday(days: np.ndarray) -> np.ndarray:
    return (days + THURSDAY) % 7


# Each from days since 1970 and microseconds since midnight.
PARTS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "year": lambda days, time: days.astype("M8[D]").astype("M8[Y]").astype(np.int64) + 1970,
    "quarter": lambda days, time: (_month(days) + 2) // 3,
    "month": lambda days, time: _month(days),
    "week": lambda days, time: _since(days - _weekday(days) + THURSDAY, "Y") // 7 + 1,  # of ISO 8601
    "day": lambda days, time: _since(days, "M") + 1,
    "dayofyear": lambda days, time: _since(days, "Y") + 1,
    "weekday": lambda days, time: _weekday(days),  # Monday is 0
    "hour": lambda days, time: time // HOUR,
    "minute": lambda days, time: time // MINUTE % 60,
    "second": lambda days, time: time // SECOND % 60,
}
AUTO = ("year", "month", "day", "weekday", "hour", "minute")  # those of them that differ between rows


@dataclass(frozen=True)
class CalendarPart:
    """A feature that is a part of a datetime.

    Attributes
    ----------
    column : of the table
    part : one of PARTS
    zone : whose clocks are read; None: the datetimes have none, and are read as they stand
    """

    column: int
    part: str
    zone: str | None = None

    def read(self, moments: np.ndarray) -> np.ndarray:
        """(n_rows,) float64 from microseconds since 1970, in UTC where there is a zone; NaN stays NaN."""
        out = np.full(len(moments), np.nan)
        there = np.isfinite(moments)
        wall = np.floor(moments[there]).astype(np.int64)
        wall += 0 if self.zone is None else offsets(wall, self.zone)
        days, time = np.divmod(wall, DAY)
        out[there] = PARTS[self.part](days, time)
        return out


def offsets(moments: np.ndarray, zone: str) -> np.ndarray:
    """(n,) int64: microseconds that clocks are ahead of UTC, at these microseconds since 1970."""
    fixed = FIXED.fullmatch(zone)
    if fixed:
        sign, hours, minutes = fixed.groups()
        return np.full(len(moments), (int(hours) * HOUR + int(minutes) * MINUTE) * (1 if sign == "+" else -1))
    days, number = np.unique(moments // DAY, return_inverse=True)
    clock = _clock(zone)
    ahead = clock(days * DAY)
    changes = ahead != clock((days + 1) * DAY)  # the rare days on which clocks are changed are looked at by the second
    out = ahead[number]
    within = np.flatnonzero(changes[number])
    seconds, again = np.unique(moments[within] // SECOND, return_inverse=True)
    out[within] = clock(seconds * SECOND)[again]
    return out


def _clock(zone: str) -> Callable[[np.ndarray], np.ndarray]:
    known, start = find_zone(zone), datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)

    def ahead(moment: int) -> int:
        try:
            local = (start + datetime.timedelta(microseconds=moment)).astimezone(known)
        except OverflowError:  # before the year 1 or after 9999 no clock has been set
            return 0
        return (local.utcoffset() or datetime.timedelta()) // datetime.timedelta(microseconds=1)

    return lambda moments: np.array([ahead(int(moment)) for moment in moments], dtype=np.int64)


def find_zone(zone: str) -> ZoneInfo:
    try:
        return ZoneInfo(zone)
    except (KeyError, ValueError, OSError):  # ZoneInfoNotFoundError is a KeyError
        raise ColumnError(
            f"datetime_features needs the clocks of the time zone {zone!r}, which this system does not know: "
            "install tzdata, or convert the column to UTC"
        ) from None

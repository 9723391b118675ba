"""Calendar parts of datetimes (month, weekday, hour, ...) in the time zone of the column."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from zoneinfo import ZoneInfo

import numpy as np

from sapwood.data.columns import FIXED_ZONE, ColumnError

DAY, HOUR, MINUTE, SECOND = 86_400_000_000, 3_600_000_000, 60_000_000, 1_000_000  # microseconds
THURSDAY = 3  # Monday is 0. 1970-01-01 was a Thursday; an ISO week belongs to the year of its Thursday


def _since(days: np.ndarray, unit: str) -> np.ndarray:
    """Return the number of days since the beginning of the month or year."""
    dates = days.astype("M8[D]")
    return (dates - dates.astype(f"M8[{unit}]").astype("M8[D]")).astype(np.int64)


def _month(days: np.ndarray) -> np.ndarray:
    return days.astype("M8[D]").astype("M8[M]").astype(np.int64) % 12 + 1


def _weekday(days: np.ndarray) -> np.ndarray:
    return (days + THURSDAY) % 7


# Functions of (days since 1970, microseconds since midnight).
PARTS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "year": lambda days, time: days.astype("M8[D]").astype("M8[Y]").astype(np.int64) + 1970,
    "quarter": lambda days, time: (_month(days) + 2) // 3,
    "month": lambda days, time: _month(days),
    "week": lambda days, time: _since(days - _weekday(days) + THURSDAY, "Y") // 7 + 1,  # ISO 8601
    "day": lambda days, time: _since(days, "M") + 1,
    "dayofyear": lambda days, time: _since(days, "Y") + 1,
    "weekday": lambda days, time: _weekday(days),  # Monday is 0
    "hour": lambda days, time: time // HOUR,
    "minute": lambda days, time: time // MINUTE % 60,
    "second": lambda days, time: time // SECOND % 60,
}
LAST = 2.0**62  # microseconds
AUTO = ("year", "month", "day", "weekday", "hour", "minute")  # default parts, if they vary between rows


@dataclass(frozen=True)
class CalendarPart:
    """Calendar part of a datetime column as a feature.

    Attributes
    ----------
    column : column of the table
    part : name in PARTS
    zone : time zone; None for datetimes without one
    """

    column: int
    part: str
    zone: str | None = None

    @property
    def columns(self) -> tuple[int, ...]:
        return (self.column,)

    def read(self, columns: Sequence[np.ndarray]) -> np.ndarray:
        """Return the part, (n_rows,) float64, of microseconds since 1970 (in UTC if there is a time zone).

        It is missing where the moment is, and beyond 292,000 years, which int64 does not reach.
        """
        (moments,) = columns
        out = np.full(len(moments), np.nan)
        present = np.abs(moments) < LAST
        wall = np.floor(moments[present]).astype(np.int64)
        wall += 0 if self.zone is None else offsets(wall, self.zone)
        days, time = np.divmod(wall, DAY)
        out[present] = PARTS[self.part](days, time)
        return out


def offsets(moments: np.ndarray, zone: str) -> np.ndarray:
    """Return the UTC offsets of a time zone, (n,) int64 microseconds, at these microseconds since 1970."""
    fixed = FIXED_ZONE.fullmatch(zone)
    if fixed:
        sign, hours, minutes = fixed.groups()
        return np.full(len(moments), (int(hours) * HOUR + int(minutes) * MINUTE) * (1 if sign == "+" else -1))
    days, day = np.unique(moments // DAY, return_inverse=True)
    offset_at = _offset_function(zone)
    at_midnight = offset_at(days * DAY)
    changes = at_midnight != offset_at((days + 1) * DAY)  # days on which the offset changes are computed by second
    out = at_midnight[day]
    within = np.flatnonzero(changes[day])
    seconds, second = np.unique(moments[within] // SECOND, return_inverse=True)
    out[within] = offset_at(seconds * SECOND)[second]
    return out


def _offset_function(zone: str) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function from microseconds since 1970 to UTC offsets."""
    zone_info, epoch = find_zone(zone), datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)

    def offset(moment: int) -> int:
        try:
            local = (epoch + datetime.timedelta(microseconds=moment)).astimezone(zone_info)
        except OverflowError:  # outside the years 1 to 9999, which datetime supports
            return 0
        return (local.utcoffset() or datetime.timedelta()) // datetime.timedelta(microseconds=1)

    return lambda moments: np.array([offset(int(moment)) for moment in moments], dtype=np.int64)


def find_zone(zone: str) -> ZoneInfo:
    """Return a time zone of the system."""
    try:
        return ZoneInfo(zone)
    except (KeyError, ValueError, OSError):  # ZoneInfoNotFoundError is a KeyError
        raise ColumnError(
            f"datetime_features needs the time zone {zone!r}, which is not installed on this system: "
            "install tzdata, or convert the column to UTC"
        ) from None

// Calendar parts of datetimes, in microseconds since 1970, as sapwood.encoding.calendar computes them.

const DAY = 86_400_000_000;

/** Returns the microseconds of the wall clock of a time zone. */
function wallTime(moment, zone) {
  if (!zone || /^(Etc\/)?(UTC|GMT)$/.test(zone)) return moment;
  const fixed = /^(?:UTC)?([+-])(\d\d):?(\d\d)$/.exec(zone);
  if (fixed) return moment + (fixed[1] === "+" ? 1 : -1) * (Number(fixed[2]) * 3600 + Number(fixed[3]) * 60) * 1e6;
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone: zone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });
  const second = Math.floor(moment / 1e6);
  const parts = Object.fromEntries(format.formatToParts(new Date(second * 1000)).map(({ type, value }) => [type, Number(value)]));
  const wall = Date.UTC(parts.year, parts.month - 1, parts.day, parts.hour, parts.minute, parts.second);
  return wall * 1000 + (moment - second * 1e6);
}

/** Returns a part of a moment; NaN if it is missing. */
export function calendarPart(moment, part, zone) {
  if (!(Math.abs(moment) < 2 ** 62)) return NaN;
  const wall = wallTime(Math.floor(moment), zone);
  const days = Math.floor(wall / DAY);
  const time = wall - days * DAY;
  const date = new Date(days * 86_400_000);
  const weekday = (((days + 3) % 7) + 7) % 7; // Monday is 0
  const begin = (year) => new Date(0).setUTCFullYear(year, 0, 1) / 86_400_000;
  switch (part) {
    case "year":
      return date.getUTCFullYear();
    case "quarter":
      return Math.floor(date.getUTCMonth() / 3) + 1;
    case "month":
      return date.getUTCMonth() + 1;
    case "week": {
      const thursday = days - weekday + 3; // an ISO week belongs to the year of its Thursday
      return Math.floor((thursday - begin(new Date(thursday * 86_400_000).getUTCFullYear())) / 7) + 1;
    }
    case "day":
      return date.getUTCDate();
    case "dayofyear":
      return days - begin(date.getUTCFullYear()) + 1;
    case "weekday":
      return weekday;
    case "hour":
      return Math.floor(time / 3_600_000_000);
    case "minute":
      return Math.floor(time / 60_000_000) % 60;
    default:
      return Math.floor(time / 1_000_000) % 60;
  }
}

"""Readers written from docs/format.md alone, in plain Python: no NumPy, nothing of Sapwood's."""

import array
import datetime
import hashlib
import json
import math
import re
import struct
import zoneinfo

TYPES = {"F64": ("d", "float64"), "I64": ("q", "int64"), "I32": ("i", "int32"), "U32": ("I", "uint32"), "U8": ("B", "uint8")}
INFINITIES = {"inf": math.inf, "-inf": -math.inf}


def plain(value):
    return INFINITIES[value["number"]] if isinstance(value, dict) else value


def mix(lane, word):
    x = (lane ^ word) * 0x9E3779B97F4A7C15 % 2**64
    return x ^ x >> 32


def hash_of(data):
    lanes = [1, 2, 3, 4, 5, 6, 7, 8]
    words = array.array("Q", data + bytes(-len(data) % 64))
    for i, word in enumerate(words):
        lanes[i % 8] = mix(lanes[i % 8], word)
    h = len(data)
    for lane in lanes:
        h = mix(h, lane)
    return h


def clock(zone):
    distance = re.fullmatch(r"(?:UTC)?([+-])(\d\d):?(\d\d)", zone)
    if distance is None:
        return zoneinfo.ZoneInfo(zone)
    ahead = datetime.timedelta(hours=int(distance[2]), minutes=int(distance[3]))
    return datetime.timezone(ahead if distance[1] == "+" else -ahead)


def cross(operation, first, second, means=None):
    """A number from two; of a category, `second` is the position of the level, or -1."""
    if operation == "product":
        return first * second
    return first - (second if operation == "difference" else means[second + 1])


def calendar_part(part, moment, zone):
    """From microseconds since 1970; in UTC, where there is a time zone whose clocks are to be read."""
    if moment is None or not math.isfinite(moment):
        return math.nan
    when = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(microseconds=math.floor(moment))
    when = when if zone is None else when.astimezone(clock(zone))
    own = {
        "quarter": (when.month + 2) // 3,
        "week": when.isocalendar()[1],
        "dayofyear": when.timetuple().tm_yday,
        "weekday": when.weekday(),
    }
    return float(own[part] if part in own else getattr(when, part))


def link(name, raw):
    if name == "log":
        return [math.exp(value) for value in raw]
    if name == "logit":
        return [1 / (1 + math.exp(-value)) for value in raw]
    if name == "softmax":
        parts = [math.exp(value - max(raw)) for value in raw]
        return [part / sum(parts) for part in parts]
    return sorted(raw) if name == "sorted" else raw


class BinaryModel:
    """The binary form. Rows are lists of numbers, of levels for categories, None or NaN for what is missing."""

    def __init__(self, data):
        (length,) = struct.unpack("<Q", data[:8])
        header = json.loads(data[8 : 8 + length])
        text = header.pop("__metadata__")
        self.about = json.loads(text["sapwood"])
        digest = hashlib.sha256(text["sapwood"].encode())
        self.arrays, self.shapes = {}, {}
        for name in sorted(header):
            place = header[name]
            code, dtype = TYPES[place["dtype"]]
            begin, end = (8 + length + offset for offset in place["data_offsets"])
            digest.update(f"\n{name} {dtype} {' '.join(map(str, place['shape']))} {hash_of(data[begin:end]):016x}".encode())
            self.arrays[name], self.shapes[name] = array.array(code, data[begin:end]), place["shape"]
        assert digest.hexdigest() == text["sha256"] and self.about["schema"] == 1

    def codes(self, row):
        """A row's columns as numbers: of a category the position of its level, or -1."""
        out = []
        for column, value in enumerate(row):
            kind = self.about["features"]["kinds"].get(str(column), {"kind": "number"})
            if value is None or value != value or value in [plain(one) for one in self.about["features"]["absent"]]:
                out.append(-1 if kind["kind"] == "category" else math.nan)
            elif kind["kind"] == "category":
                levels = [plain(level) for level in kind["levels"]]
                out.append(levels.index(value) if value in levels else -1)
            else:
                out.append(float(value))
        return out

    def features(self, codes):
        a = self.arrays
        parts = {int(f): about for f, about in self.about["encoding"].get("parts", {}).items()}
        crosses = {int(f): about for f, about in self.about["encoding"].get("crosses", {}).items()}
        lookups = {int(f): about for f, about in self.about["encoding"]["lookups"].items()}
        out = []
        for f in range(len(a["kinds"])):
            if f in parts:
                zone = self.about["features"]["kinds"][str(parts[f]["column"])].get("zone")
                out.append(calendar_part(parts[f]["part"], codes[parts[f]["column"]], zone))
                continue
            if f in crosses:
                out.append(cross(crosses[f]["operation"], *(codes[c] for c in crosses[f]["columns"]), crosses[f].get("means")))
                continue
            if f not in lookups:
                out.append(codes[f])
                continue
            i, key = sorted(lookups).index(f), 0
            for column, n in zip(lookups[f]["columns"], lookups[f]["n_levels"], strict=True):
                key = key * (n + 1) + codes[column] + 1
            begin, end = a["lookup_begin"][i], a["lookup_begin"][i + 1]
            keys = list(a["lookup_keys"][begin:end])
            out.append(a["lookup_values"][begin + keys.index(key)] if key in keys else a["lookup_other"][i])
        return out

    def raw(self, row):
        return self.raw_of_codes(self.codes(row))

    def raw_of_codes(self, codes):
        a, x = self.arrays, self.features(codes)
        shared, best, raw = self.about["shared"], self.about["best_round"], list(a["base_score"])
        a_round = shared or len(raw)
        n_trees = len(a["begin"]) - 1 if best is None else best * a_round
        for tree in range(n_trees):
            root = node = a["begin"][tree]
            while a["feature"][node] >= 0:
                value, f = x[a["feature"][node]], a["feature"][node]
                if value != value:
                    left = a["missing_left"][node]
                elif a["kinds"][f] == 0:
                    left = value <= a["threshold"][node]
                else:
                    left = a["sets"][8 * a["bin"][node] + int(value) // 32] >> int(value) % 32 & 1
                node = root + (a["left"] if left else a["right"])[node]
            if shared:
                raw = [value + a["value"][node * len(raw) + output] for output, value in enumerate(raw)]
            else:
                raw[tree % len(raw)] += a["value"][node] if self.about.get("leaves") != "linear" else self.linear(node, x)
        return raw

    def linear(self, node, x):
        a, first = self.arrays, sum(self.arrays["n_slopes"][:node])
        total = a["value"][node]
        for k in range(first, first + a["n_slopes"][node]):
            i = a["slope_input"][k]
            begin, end, value = a["input_begin"][i], a["input_begin"][i + 1], x[a["input_feature"][i]]
            if value == value:
                z = a["input_values"][begin + i + sum(cut < value for cut in a["input_cuts"][begin:end])]
                total += a["slope"][k] * (min(max(z, a["slope_low"][k]), a["slope_high"][k]) - a["slope_center"][k])
        return total

    def predict(self, row):
        return link(self.about["link"], self.raw(row))


class JsonModel:
    """The JSON form; rows as above."""

    def __init__(self, text):
        self.about = json.loads(text)
        assert (self.about["format"], self.about["schema"]) == ("sapwood-json", 1)

    def feature(self, feature, row):
        about = self.about["features"][feature]
        values = [row[column] for column in about["columns"]]
        absent = [plain(one) for one in self.about["missing_values"]]
        values = [None if value is None or value != value or value in absent else value for value in values]
        if about["part"] is not None:
            found = calendar_part(about["part"], values[0], self.about["columns"][about["columns"][0]].get("zone"))
            return None if found != found else found
        if "operation" in about:
            means = {plain(one["level"]): one["mean"] for one in about["means"]}
            second = means.get(values[1], means[None]) if means else values[1]
            missing = values[0] is None or second is None
            found = math.nan if missing else cross("product" if about["operation"] == "product" else "difference", values[0], second)
            return None if found != found else found
        if about["lookup"] is None:
            return values[0]
        known = [[plain(level) for level in self.about["columns"][column]["levels"]] for column in about["columns"]]
        values = [value if value in levels else None for value, levels in zip(values, known, strict=True)]
        if about["lookup"]["split"] == "levels":
            return values[0] if any([plain(one) for one in entry["levels"]] == values for entry in about["lookup"]["entries"]) else None
        for entry in about["lookup"]["entries"]:
            if [plain(level) for level in entry["levels"]] == values:
                return entry["value"]
        return about["lookup"]["other"]

    def linear(self, leaf, row):
        total = leaf["value"]
        for own in leaf["slopes"]:
            about = self.about["inputs"][own["input"]]
            x = self.feature(about["feature"], row)
            if x is not None:
                z = about["values"][sum(plain(cut) < x for cut in about["cuts"])]
                total += own["slope"] * (min(max(z, own["low"]), own["high"]) - own["center"])
        return total

    def raw(self, row):
        raw = list(self.about["base_score"])
        for trees in self.about["rounds"][: self.about["n_rounds_used"]]:
            for output, tree in enumerate(trees):
                node = tree["nodes"][0]
                while "value" not in node:
                    x = self.feature(node["feature"], row)
                    if x is None:
                        way = node["missing"]
                    elif "threshold" in node:
                        way = "left" if x <= plain(node["threshold"]) else "right"
                    else:
                        way = "left" if x in [plain(level) for level in node["levels"]] else "right"
                    node = tree["nodes"][node[way]]
                if self.about["leaves_hold"] == "one value":
                    raw[output] += node["value"]
                elif "slopes" in node:
                    raw[output] += self.linear(node, row)
                else:
                    raw = [a + b for a, b in zip(raw, node["value"], strict=True)]
        return raw

    def predict(self, row):
        return link(self.about["link"], self.raw(row))

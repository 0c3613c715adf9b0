"""What pyarrow says is in a Parquet file, as the fields that Headrace makes of it."""

from __future__ import annotations

import base64
import datetime
import decimal
import json
import math
from pathlib import Path
from typing import Any

import headrace as hr
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

EPOCH = datetime.datetime(1970, 1, 1)
DIGITS = {"s": 3, "ms": 3, "us": 6, "ns": 9}  # Parquet has no unit of seconds


def clock(value: int, unit: str) -> tuple[int, str]:
    """Seconds, and the digits behind the point, of so many units."""
    per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    seconds, rest = divmod(value, per_second)
    digits = DIGITS[unit]
    return seconds, f".{rest * 10**digits // per_second:0{digits}}"


def text_of(scalar: Any) -> object:
    """A scalar that is not null as JSON would have it, dates and the like as text."""
    kind = scalar.type
    if isinstance(scalar, pa.ExtensionScalar):
        return str(scalar.as_py()) if isinstance(kind, pa.UuidType) else text_of(scalar.value)
    if pa.types.is_dictionary(kind):
        return text_of(pa.scalar(scalar.as_py(), kind.value_type))
    if pa.types.is_timestamp(kind):
        seconds, fraction = clock(scalar.value, kind.unit)
        at = EPOCH + datetime.timedelta(seconds=seconds)
        return at.isoformat() + fraction + ("Z" if kind.tz else "")
    if pa.types.is_time(kind):
        seconds, fraction = clock(scalar.value, kind.unit)
        return (EPOCH + datetime.timedelta(seconds=seconds)).strftime("%H:%M:%S") + fraction
    if pa.types.is_date(kind):
        return scalar.as_py().isoformat()
    if pa.types.is_duration(kind):
        return scalar.value
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return [json_of(scalar.values[i]) for i in range(len(scalar.values))]
    if pa.types.is_map(kind):
        pairs = scalar.values
        return [[json_of(p["key"]), json_of(p["value"])] for p in pairs]
    if pa.types.is_struct(kind):
        return {name: json_of(scalar[name]) for name in scalar}
    return scalar.as_py()


def json_of(scalar: Any) -> object:
    """As it stands inside of a nested value."""
    value = text_of(scalar) if scalar.is_valid else None
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return float(value) if isinstance(value, decimal.Decimal | np.floating) else value


def is_nested(kind: pa.DataType) -> bool:
    return pa.types.is_nested(kind)


def is_media(kind: pa.DataType) -> bool:
    return pa.types.is_struct(kind) and sorted(f.name for f in kind) == ["bytes", "path"]


def agree(field: bytes, scalar: Any) -> bool:
    """Whether a field holds the scalar."""
    expected = text_of(scalar)
    if is_nested(scalar.type):
        return same_json(json.loads(field), expected)
    if isinstance(expected, bytes):
        return field == expected
    if isinstance(expected, bool):
        return field == (b"1" if expected else b"0")
    text = field.decode()
    if isinstance(expected, decimal.Decimal):
        return decimal.Decimal(text) == expected
    if isinstance(expected, float | np.floating):
        narrow = {16: np.float16, 32: np.float32, 64: np.float64}[scalar.type.bit_width]
        found = narrow(text)
        return found == narrow(expected) or (math.isnan(found) and math.isnan(expected))
    return text == str(expected)


def same_json(found: Any, expected: Any) -> bool:
    """Equal, where a number of single precision has fewer digits."""
    if isinstance(expected, float):
        close = math.isclose(found, expected, rel_tol=1e-6) if found is not None else False
        return close or found == expected or (math.isnan(found) and math.isnan(expected))
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(same_json, found, expected))
    if isinstance(expected, dict):
        return list(found) == list(expected) and all(
            same_json(found[name], expected[name]) for name in expected
        )
    return type(found) is type(expected) and found == expected


def check_file(path: Path, location: object | None = None) -> int:
    """Every field of every row against pyarrow; how many rows there were."""
    table = pq.read_table(path, partitioning=None)
    ds = hr.open(str(location or path))
    assert len(ds) == table.num_rows
    columns = [(name.lower(), table.column(i)) for i, name in enumerate(table.column_names)]
    for row, sample in enumerate(ds.samples()):
        assert sample.key == f"{path.stem}/{row:08}"
        expected = {}
        for name, column in columns:
            scalar = column[row]
            if is_media(scalar.type) and scalar.is_valid and scalar["bytes"].is_valid:
                (media,) = (f for f in sample.fields if f == name or f.startswith(name + "."))
                assert bytes(sample[media]) == scalar["bytes"].as_py()
                expected[media] = scalar
            elif scalar.is_valid and not is_media(scalar.type):
                expected[name] = scalar
                assert name in sample.fields, (path.name, row, name)
                field = bytes(sample[name])
                assert agree(field, scalar), (path.name, row, name, field, scalar)
        assert list(sample.fields) == list(expected)
    return table.num_rows

// A stored value as text: what the field of a sample holds, and what stands in JSON.
//
//   bytes, text      as they are                 in JSON: base64, a string
//   whole numbers    decimal digits              true and false are 1 and 0; in JSON they are
//   themselves float, double    the shortest digits that give the same number back; NaN, Infinity,
//   -Infinity decimal          digits with a point         12.50 date, time       2024-01-31,
//   12:34:56.000001, 2024-01-31T12:34:56.000001Z (Z: UTC) UUID             8-4-4-4-12 digits
//
// Format: LogicalTypes.md of apache/parquet-format 2.11. Thread-safety: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "format/parquet/schema.h"
#include "headrace/bytes.h"

namespace headrace::parquet {

/// Appends a value. Precondition: of type.width bytes where that is not 0, a byte for a boolean.
void append_text(const ValueType& type, ByteView value, std::string& out);
void append_json(const ValueType& type, ByteView value, std::string& out);

/// Appends a JSON string of text that is in UTF-8.
void append_quoted(std::string_view text, std::string& out);

}  // namespace headrace::parquet

// headrace/batch.h: columns as arrays over the batch's own memory. Nothing is copied: an array
// holds the slot through a capsule, so the memory stays as it is while any array lives, also after
// the loader and the batch are gone.
#include "headrace/batch.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <memory>

#include "bindings.h"
#include "handles.h"

namespace headrace::python {
namespace {

using Array = nb::ndarray<nb::array_api>;  // speaks DLPack
using NumpyArray = nb::ndarray<nb::numpy>;
using Numbers = nb::ndarray<nb::numpy, const int64_t>;

/// One column, and the batch that it lies in.
struct PyColumn {
  std::shared_ptr<const Batch> batch;
  const Column* column;
};

nb::dlpack::dtype dlpack_dtype(DType dtype) {
  using Code = nb::dlpack::dtype_code;
  const auto make = [&](Code code) {
    const auto bits = static_cast<uint8_t>(8 * dtype_size(dtype));
    return nb::dlpack::dtype{static_cast<uint8_t>(code), bits, 1};
  };
  switch (dtype) {
    case DType::u8:
    case DType::u16:
    case DType::u32:
    case DType::u64:
      return make(Code::UInt);
    case DType::i8:
    case DType::i16:
    case DType::i32:
    case DType::i64:
      return make(Code::Int);
    case DType::f16:
    case DType::f32:
    case DType::f64:
      return make(Code::Float);
    case DType::bool_:
      return make(Code::Bool);
    case DType::bf16:
      return make(Code::Bfloat);
    case DType::c64:
    case DType::c128:
      return make(Code::Complex);
  }
  return make(Code::UInt);
}

/// A capsule that keeps `owner` alive.
template <typename T>
nb::capsule keeping(std::shared_ptr<T> owner) {
  using Held = std::unique_ptr<std::shared_ptr<T>>;
  Held held = std::make_unique<std::shared_ptr<T>>(std::move(owner));
  nb::capsule capsule(held.get(), [](void* pointer) noexcept {
    const Held dropped(static_cast<std::shared_ptr<T>*>(pointer));
  });
  static_cast<void>(held.release());
  return capsule;
}

/// The elements of a column, as an array over the slot.
template <typename ArrayType>
ArrayType elements(const PyColumn& self) {
  const std::vector<size_t> shape(self.column->shape.begin(), self.column->shape.end());
  return ArrayType(self.column->data.data(), shape.size(), shape.data(), keeping(self.batch->slot),
                   nullptr, dlpack_dtype(self.column->dtype));
}

/// A vector of the batch as a read-only int64 array, read where it is.
nb::object numbers(const PyColumn& self, const std::vector<int64_t>& values,
                   const std::vector<size_t>& shape) {
  return nb::cast(Numbers(values.data(), shape.size(), shape.data(), keeping(self.batch)));
}

nb::object offsets(const PyColumn& self) {
  const std::vector<int64_t>& values = self.column->offsets;
  return numbers(self, values, {values.size()});
}

nb::object row_shapes(const PyColumn& self) {
  const std::vector<int64_t>& values = self.column->row_shapes;
  if (values.empty()) return nb::none();
  const auto ndim = static_cast<size_t>(self.column->row_ndim);
  return numbers(self, values, {values.size() / ndim, ndim});
}

size_t row_count(const PyColumn& self) { return self.batch->rows.size(); }

/// The bytes of row i of a ragged column.
ByteView row_bytes(const PyColumn& self, size_t i) {
  if (i >= row_count(self)) throw nb::index_error("the batch has fewer rows");
  const size_t size = dtype_size(self.column->dtype);
  const auto begin = static_cast<size_t>(self.column->offsets[i]);
  const auto end = static_cast<size_t>(self.column->offsets[i + 1]);
  return ByteView(self.column->data).subspan(begin * size, (end - begin) * size);
}

nb::str strict_str(ByteView bytes) { return nb::str(as_text(bytes).data(), bytes.size()); }

template <typename Make>
nb::list rows_as(const PyColumn& self, Make make) {
  nb::list out;
  for (size_t i = 0; i < row_count(self); ++i) out.append(make(row_bytes(self, i)));
  return out;
}

nb::tuple shape(const PyColumn& self) {
  nb::list out;
  for (const int64_t extent : self.column->shape) out.append(extent);
  return nb::tuple(out);
}

PyColumn column(const PyBatch& self, std::string_view name) {
  for (const Column& candidate : self.batch->columns) {
    if (candidate.name == name) return {self.batch, &candidate};
  }
  std::string known;
  for (const Column& candidate : self.batch->columns) {
    known += (known.empty() ? "" : ", ") + candidate.name;
  }
  raise(Error{.code = Code::kNotFound,
              .message = "the batch has no field '" + std::string(name) + "'",
              .origin = {},
              .hint = "It has: " + known + "."});
}

nb::list fields(const PyBatch& self) {
  nb::list out;
  for (const Column& column : self.batch->columns) out.append(to_str(column.name));
  return out;
}

nb::list keys(const PyBatch& self) {
  nb::list out;
  for (const RowOrigin& row : self.batch->rows) {
    out.append(to_str(unwrap((*self.sets)[row.set]->key(row.id))));
  }
  return out;
}

nb::list origins(const PyBatch& self) {
  nb::list out;
  for (const RowOrigin& row : self.batch->rows) {
    out.append(to_origin((*self.sets)[row.set]->origin(row.id)));
  }
  return out;
}

/// A new numpy array with f(row) for every row.
template <typename T, typename F>
NumpyArray per_row(const PyBatch& self, F f) {
  const size_t rows = self.batch->rows.size();
  auto values = std::make_shared<std::unique_ptr<T[]>>(std::make_unique<T[]>(rows + 1));
  for (size_t i = 0; i < rows; ++i) (*values)[i] = f(self.batch->rows[i]);
  return NumpyArray(values->get(), 1, &rows, keeping(values), nullptr, nb::dtype<T>());
}

/// The batch's shared memory: tuples of id, descriptor, address, bytes.
nb::list shared(const PyBatch& self) {
  nb::list out;
  for (const SharedMemory& memory : self.batch->shared) {
    out.append(nb::make_tuple(memory.id, memory.descriptor,
                              reinterpret_cast<uintptr_t>(memory.bytes.data()),
                              memory.bytes.size()));
  }
  return out;
}

/// What a batch knows of its rows, without the columns and their memory.
PyBatch without_columns(const PyBatch& self) {
  auto rows = std::make_shared<Batch>();
  rows->epoch = self.batch->epoch;
  rows->step = self.batch->step;
  rows->total = self.batch->total;
  rows->rows = self.batch->rows;
  rows->errors = self.batch->errors;
  rows->packed = self.batch->packed;
  rows->state = self.batch->state;
  return {std::move(rows), self.sets};
}

/// A row a document: its length, from, count, to (headrace/packing.h).
NumpyArray pieces(const PyBatch& self) {
  const std::vector<TokenPiece>& all = self.batch->packed.pieces;
  static_assert(sizeof(TokenPiece) == 4 * sizeof(uint64_t));
  const std::array<size_t, 2> shape{all.size(), 4};
  auto copy = std::make_shared<std::vector<TokenPiece>>(all);
  return NumpyArray(copy->data(), 2, shape.data(), keeping(copy), nullptr, nb::dtype<int64_t>());
}

nb::list errors(const PyBatch& self) {
  nb::list out;
  const nb::object row_error = nb::module_::import_("headrace.errors").attr("RowError");
  for (const RowError& error : self.batch->errors) {
    const auto key = (*self.sets)[error.row.set]->key(error.row.id);
    out.append(row_error(key.ok() ? nb::object(to_str(*key)) : nb::object(nb::none()),
                         error.row.position, exception_of(error.error)));
  }
  return out;
}

}  // namespace

void bind_batch(nb::module_& module) {
  nb::class_<PyColumn>(module, "Column")
      .def_prop_ro("name", [](const PyColumn& self) { return to_str(self.column->name); })
      .def_prop_ro("dtype", [](const PyColumn& self) { return dtype_name(self.column->dtype); })
      .def_prop_ro("shape", &shape)
      .def_prop_ro("ragged", [](const PyColumn& self) { return self.column->ragged; })
      .def_prop_ro("address",
                   [](const PyColumn& self) {
                     return reinterpret_cast<uintptr_t>(self.column->data.data());
                   })
      .def("numpy", &elements<NumpyArray>)
      .def_prop_ro("rows", &row_count)
      .def_prop_ro("offsets", &offsets)
      .def_prop_ro("row_shapes", &row_shapes)
      .def("bytes_of", [](const PyColumn& self, size_t i) { return to_bytes(row_bytes(self, i)); })
      .def("text_of", [](const PyColumn& self, size_t i) { return strict_str(row_bytes(self, i)); })
      .def("all_bytes", [](const PyColumn& self) { return rows_as(self, to_bytes); })
      .def("all_texts", [](const PyColumn& self) { return rows_as(self, strict_str); })
      .def("__dlpack__",
           [](const PyColumn& self, const nb::kwargs& options) {
             return nb::cast(elements<Array>(self)).attr("__dlpack__")(**options);
           })
      .def("__dlpack_device__",
           [](const PyColumn&) { return nb::make_tuple(nb::device::cpu::value, 0); });

  nb::class_<PyBatch>(module, "Batch")
      .def("__len__", [](const PyBatch& self) { return self.batch->rows.size(); })
      .def_prop_ro("epoch", [](const PyBatch& self) { return self.batch->epoch; })
      .def_prop_ro("step", [](const PyBatch& self) { return self.batch->step; })
      .def_prop_ro("total", [](const PyBatch& self) { return self.batch->total; })
      .def_prop_ro("fields", &fields)
      .def("column", &column)
      .def("keys", &keys)
      .def("origins", &origins)
      .def("positions",
           [](const PyBatch& self) {
             return per_row<int64_t>(
                 self, [](const RowOrigin& row) { return static_cast<int64_t>(row.position); });
           })
      .def("sets",
           [](const PyBatch& self) {
             return per_row<int64_t>(self, [](const RowOrigin& row) { return int64_t{row.set}; });
           })
      .def("mask",
           [](const PyBatch& self) {
             return per_row<bool>(self, [](const RowOrigin& row) { return !row.padded; });
           })
      .def("errors", &errors)
      .def("pieces", &pieces)
      .def_prop_ro("packed_rows", [](const PyBatch& self) { return self.batch->packed.rows; })
      .def_prop_ro("packed_real_rows",
                   [](const PyBatch& self) { return self.batch->packed.real_rows; })
      .def_prop_ro("state", [](const PyBatch& self) { return self.batch->state; })
      .def("shared", &shared)
      .def("without_columns", &without_columns);
}

}  // namespace headrace::python

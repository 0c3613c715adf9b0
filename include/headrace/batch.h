// A Batch is what one rank gets at one step: a column a field, and where each row came from.
//
// Ownership: a batch owns the slot of memory its columns lie in. While any reference to the batch
// lives its memory stays as it is; when the last one goes the slot returns to the loader's pool.
// Thread-safety: immutable once handed out.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "headrace/bytes.h"
#include "headrace/dataset.h"
#include "headrace/field.h"
#include "headrace/packing.h"
#include "headrace/result.h"

namespace headrace {

/// One field of all rows.
///
/// Dense: `shape` is {rows, …} and `data` holds the elements in C order.
/// Ragged: row i has elements [offsets[i], offsets[i+1]) of `data`; `row_shape(i)` is its shape.
///
///   data     | row 0 ....| row 1 .| row 2 .......|
///   offsets  0           6        9              16
struct Column {
  std::string name;
  DType dtype = DType::u8;
  bool ragged = false;
  std::vector<int64_t> shape;       ///< dense: {rows, …}; ragged: {elements}
  MutableBytes data;                ///< in the batch's slot
  std::vector<int64_t> offsets;     ///< ragged: rows + 1, in elements
  std::vector<int64_t> row_shapes;  ///< ragged rows of more than one dimension: rows x row_ndim
  int row_ndim = 1;                 ///< ragged: dimensions of one row
};

/// Where a row came from.
struct RowOrigin {
  uint32_t set = 0;  ///< which data set of a mixture
  SampleId id;
  uint64_t position = 0;  ///< in the epoch
  bool padded = false;    ///< a repeat that fills the last step
};

/// A row that was left out (on_error = skip), or became gray, and why.
struct RowError {
  RowOrigin row;
  Error error;
};

/// Memory of a batch that other processes can map.
struct SharedMemory {
  uint64_t id = 0;      ///< the same as long as it is the same memory
  int descriptor = -1;  ///< maps to `bytes`; valid while the batch lives
  ByteView bytes;
};

/// The rows of tokens that a batch of documents makes.
struct PackedRows {
  uint64_t length = 0;             ///< tokens a row; 0: the batch is not packed
  uint64_t rows = 0;               ///< of this rank, padded ones too
  uint64_t real_rows = 0;          ///< the first ones; repeats that fill the last step come after
  std::vector<TokenPiece> pieces;  ///< one for each of Batch::rows
};

struct Batch {
  uint64_t epoch = 0;
  uint64_t step = 0;   ///< of the epoch
  uint64_t total = 0;  ///< rows of this step over all ranks, for weighting the loss
  std::vector<Column> columns;
  std::vector<RowOrigin> rows;  ///< of the columns; documents, where they are packed
  std::vector<RowError> errors;
  PackedRows packed;
  std::string state;  ///< JSON: the state after this batch

  std::shared_ptr<void> slot;        ///< owns the columns' memory
  std::vector<SharedMemory> shared;  ///< that memory, with LoaderOptions::shared_memory
};

}  // namespace headrace

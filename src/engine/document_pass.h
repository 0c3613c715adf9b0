// The pass over the index that planning packed rows begins with: how many tokens each lane has.
//
// It reads the index section of every shard once a loader, on every rank, with all threads. That is
// the price of knowing the number of steps, and where each of them begins, before the first one.
#pragma once

#include <memory>

#include "headrace/loader.h"
#include "headrace/result.h"
#include "plan/document_lengths.h"

namespace headrace {

/// Lengths of single documents are kept for the lanes that this rank reads, if they fit into
/// memory_bytes; others are looked up when they are needed.
Result<std::shared_ptr<const DocumentLengths>> read_document_lengths(
    const LoaderOptions& options, std::shared_ptr<const Order> order);

}  // namespace headrace

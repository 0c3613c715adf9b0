// Reads a tar archive from front to back once and checks all that needs no manifest: every header,
// the zero bytes of the padding, the end; and takes the XXH3 of the whole object on the way.
//
//   bytes   |hdr|payload|000|hdr|payload|00|hdr#ayload|0|hdr|payload|000|0000|0000|
//            ^ parsed     ^ zero?           ^ damaged     ^ taken up again here
//
// A damaged header ends an ordinary reader. Where an index knows the next sample's first header,
// the scan takes up again there, so that all damages of a shard are found in one pass.
// Thread-safety: one scan belongs to one thread; callbacks come from it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "format/tar_parser.h"
#include "headrace/result.h"
#include "headrace/store.h"
#include "job/progress.h"

namespace headrace {

enum class ScanProblem { kHeader, kPadding };

struct ScanCallbacks {
  std::function<void(const TarMember&)> on_member;
  /// The newest member's payload, in pieces that come in order; none for an empty one. May be left
  /// out.
  std::function<void(ByteView)> on_payload = {};
  /// The error has member and offset where they are known, not the shard.
  std::function<void(ScanProblem, Error)> on_problem;
  /// First byte of a header known to lie behind `offset`, if there is one.
  std::function<std::optional<uint64_t>(uint64_t offset)> next_header;
};

struct ArchiveScan {
  uint64_t members = 0;
  uint64_t xxh3 = 0;
  std::optional<TarEnd> end;  ///< nothing when a damage hides it
};

/// Scans `source` whole, and counts its bytes in `progress` if it `counts`. Errors are those of
/// reading, and Code::kInterrupted.
Result<ArchiveScan> scan_archive(const ByteSource& source, bool counts, Progress& progress,
                                 const ScanCallbacks& callbacks);

}  // namespace headrace

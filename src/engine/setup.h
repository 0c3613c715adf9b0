// From a user's LoaderOptions to what the engine runs on: checked options, columns, the schedule.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/measure.h"
#include "engine/row_filler.h"
#include "engine/row_mixer.h"
#include "engine/span_fetcher.h"
#include "headrace/loader.h"
#include "plan/epoch_steps.h"
#include "plan/schedule.h"

namespace headrace {

/// Options with every default filled in, and what follows from them. Immutable.
struct Setup {
  LoaderOptions options;
  std::vector<FieldSpec> fields;
  std::vector<ColumnPlan> columns;
  std::shared_ptr<const Schedule> schedule;
  std::shared_ptr<SpanMemory> span_memory;  ///< of remote bytes
};

/// Code::kUsage says which option is wrong and what it may be.
Result<Setup> make_setup(LoaderOptions options);

/// What a sample's length is in the index, for buckets and for packed rows: bytes of a field, or
/// its measure.
struct LengthRule {
  FieldSpec field;
  Unit unit = Unit::kNone;  ///< kNone: bytes
};
LengthRule length_rule(const LoaderOptions& options);

/// What mixes the rows of an epoch's steps; Code::kUsage if a rank would cut a group.
Result<std::optional<RowMixer>> make_mixer(const Setup& setup, const OrderOptions& order,
                                           const EpochSteps& steps);

/// The same with another order (a restored state's), which was checked already. `known`: lengths of
/// documents that were read before, which are read again only if the order's lanes are others; or
/// nullptr.
Result<std::shared_ptr<const Schedule>> make_schedule(
    const LoaderOptions& options, ScheduleOptions order,
    std::shared_ptr<const DocumentLengths> known = nullptr);

/// How bytes of remote data sets are fetched; nothing if all sets are local.
std::optional<FetchOptions> fetch_options(const Setup& setup);

/// Samples dropped or repeated an epoch, in one sentence.
std::string tail_sentence(const Schedule& schedule, uint64_t total);

/// Lanes, window, memory, extra reads; a line each.
std::string explain(const Setup& setup);

}  // namespace headrace

#include "engine/one_row.h"

#include <nlohmann/json.hpp>

#include "base/try.h"
#include "engine/ticket.h"

namespace headrace {
namespace {

using Json = nlohmann::ordered_json;

/// The position of the row that this one is mixed with, and the share of its own.
Json mixing(const RowMixer& mixer, uint64_t epoch, uint64_t position, uint64_t samples) {
  const uint64_t first = position - position % mixer.group();
  const MixDraw draw = mixer.draw(epoch, first);
  if (draw.kind == MixDraw::Kind::none) return nullptr;
  const bool cuts = draw.kind == MixDraw::Kind::cutmix;
  const uint64_t partner = position == first ? first + mixer.group() - 1 : position - 1;
  Json out = {{"op", cuts ? "cutmix" : "mixup"},
              {"partner", partner % samples},  // of a padded row: what it repeats
              {"lam", draw.lambda}};
  if (cuts) out["centre"] = {draw.centre_x, draw.centre_y};
  return out;
}

}  // namespace

RowOrigin origin_of(const Row& row) {
  return {.set = row.set,
          .id = {row.shard, row.sample},
          .position = row.position,
          .padded = row.padded};
}

Result<OneRow> make_row(const Setup& setup, EpochPlan& plan, const RowMixer* mixer,
                        uint64_t position) {
  if (position >= plan.positions())
    return Error{.code = Code::kUsage,
                 .message = "an epoch has " + std::to_string(plan.positions()) +
                            " positions; there is no position " + std::to_string(position)};
  const LoaderOptions& o = setup.options;
  const RowOrigin origin = origin_of(plan.row_at(position));
  SlotPool pool({.keep = 1});
  Timers timers;
  BlockHints hints;
  PlaceFinder finder(o.sets, setup.fields);
  Ticket ticket(setup.columns, plan.epoch(), 0, 1, {origin}, false);
  HR_CHECK(ticket.lay_out(finder));
  ticket.take_slot(pool);
  RowFiller filler(setup.columns, timers, hints);
  std::vector<std::string> draws(setup.columns.size());
  filler.record_draws(&draws);
  const uint64_t seed = setup.schedule->options().order.seed;
  ticket.fill(0, filler, *o.sets[origin.set], {seed, plan.epoch(), position});
  OneRow row;
  HR_TRY(row.batch, ticket.finish(o.sets, pool, OnError::kRaise, nullptr));

  HR_TRY(const std::string key, o.sets[origin.set]->key(origin.id));
  Json columns = Json::object();
  for (size_t c = 0; c < draws.size(); ++c)
    if (!draws[c].empty()) columns[setup.columns[c].spec.name] = Json::parse(draws[c]);
  Json out = {{"epoch", plan.epoch()},
              {"position", position},
              {"key", key},
              {"columns", std::move(columns)}};
  if (mixer != nullptr)
    out["mixed"] = mixing(*mixer, plan.epoch(), position, plan.steps().samples());
  row.explanation = out.dump();
  return row;
}

}  // namespace headrace

#include "plan/run_state.h"

#include <nlohmann/json.hpp>

#include "plan_testing.h"

namespace headrace {
namespace {

RunState example() {
  const auto schedule = single(uneven_table(500, 9, 8, 1), order_options(48, 16, 30));
  return begin_run(*schedule, {"5f2c"});
}

RunState mixture_example() {
  const auto schedule = must(Schedule::create(
      {uneven_table(50, 3, 8, 1), uneven_table(20, 3, 8, 2)},
      {.order = order_options(48, 16, 30), .weights = {{0, must(mixture_counts({3, 1}))}}}));
  return begin_run(*schedule, {"5f2c", "aa01"});
}

RunState packed_example() {
  RunState state = example();
  state.options.order.pack_by = "npy:tokens";
  state.options.order.pack_length = 2048;
  return state;
}

TEST(RunState, IsASmallJsonThatIsWrittenTheSameForEver) {
  RunState state = example();
  state.epoch = 3;
  state.offset = 6;
  EXPECT_EQ(encode_state(state),
            R"({"headrace_state":1,"order":1,"data":["5f2c"],"shuffle":true,"seed":7,"lanes":16,)"
            R"("window":30000,"tail":"pad","epoch":3,"offset":6,"over":false,"batches":[[0,48]]})");
  EXPECT_EQ(encode_state(mixture_example()),
            R"({"headrace_state":1,"order":1,"data":["5f2c","aa01"],"shuffle":true,"seed":7,)"
            R"("lanes":16,"window":30000,"tail":"pad","epoch":0,"offset":0,"over":false,)"
            R"("batches":[[0,48]],"mixture":{"samples":144,"weights":[[0,[49152,16384]]]}})");
}

TEST(RunState, ComesBackFromItsText) {
  for (RunState state : {example(), mixture_example()}) {
    state.options.order.seed = ~uint64_t{0};
    state.options.order.tail = Tail::kDrop;
    state.epoch = 12;
    state.offset = 8;
    state.over = true;
    state.batches = {{0, 48}, {3, 160}};
    const std::string text = encode_state(state);
    const RunState back = must(decode_state(text));
    EXPECT_EQ(encode_state(back), text);
    EXPECT_EQ(back.options.order.seed, ~uint64_t{0});
    EXPECT_EQ(back.options.order.global_batch, 160u);
    EXPECT_TRUE(back.over);
  }
}

TEST(RunState, AfterTheLastBatchIsTheEndOfTheEpochAndAfterTheLoopTheStartOfTheNext) {
  const RunState run = example().at_epoch(4);
  const EpochSteps steps = must(EpochSteps::create(500, 16, Tail::kPad, run.batches));
  ASSERT_EQ(steps.steps(), 11u);  // 10 full ones of 48 and a tail of 20
  EXPECT_FALSE(run.before_step(steps, 0).over);
  const RunState in_tail = run.before_step(steps, 10);
  EXPECT_FALSE(in_tail.over);
  EXPECT_EQ(in_tail.offset, 30u);
  const RunState end = run.before_step(steps, 11);
  EXPECT_TRUE(end.over);
  EXPECT_EQ(end.epoch, 4u);
  const RunState next = end.at_epoch(end.epoch + 1);
  EXPECT_FALSE(next.over);
  EXPECT_EQ(next.epoch, 5u);
  EXPECT_EQ(next.offset, 0u);
}

TEST(RunState, GoesOnWithAnotherBatchAndKeepsItInLaterEpochs) {
  const EpochSteps steps = must(EpochSteps::create(500, 16, Tail::kPad, example().batches));
  const RunState state = must(with_total(example().before_step(steps, 4), 32));
  EXPECT_EQ(state.batches, (std::vector<BatchSegment>{{0, 48}, {12, 32}}));
  EXPECT_EQ(must(with_total(state, 64)).batches, (std::vector<BatchSegment>{{0, 48}, {12, 64}}));
  EXPECT_EQ(must(with_total(state, 32)).batches, state.batches);
  EXPECT_EQ(state.at_epoch(1).batches, (std::vector<BatchSegment>{{0, 32}}));
  EXPECT_EQ(with_total(state, 40).error().message,
            "the state's 16 lanes do not divide a global batch of 40 rows");
  EXPECT_FALSE(with_total(state, 0).ok());
  // The state of an earlier step is the one that was saved there.
  const EpochSteps changed = must(EpochSteps::create(500, 16, Tail::kPad, state.batches));
  EXPECT_EQ(encode_state(state.before_step(changed, 2)),
            encode_state(example().before_step(steps, 2)));
}

TEST(RunState, OfPackedRowsSaysWhatTheyArePackedBy) {
  const std::string text = encode_state(packed_example());
  const std::string pack = R"(,"pack":{"by":"npy:tokens","length":2048}})";
  EXPECT_TRUE(text.ends_with(pack)) << text;
  EXPECT_EQ(encode_state(must(decode_state(text))), text);
  const auto message = [](const RunState& state, const RunState& asked) {
    const Status status = check_compatible(state, asked);
    return status.ok() ? std::string("no error") : status.error().message;
  };
  const std::string begin = "the state is of another run: ";
  EXPECT_EQ(message(packed_example(), packed_example()), "no error");
  EXPECT_EQ(message(packed_example(), example()),
            begin + "pack by is npy:tokens in the state and  here");
  RunState longer = packed_example();
  longer.options.order.pack_length = 4096;
  EXPECT_EQ(message(longer, packed_example()),
            begin + "pack length is 4096 in the state and 2048 here");
}

TEST(RunState, OfPackedRowsChangesItsBatchAtTheStartOfAnEpochAlone) {
  RunState state = packed_example();
  EXPECT_EQ(must(with_total(state, 96)).batches, (std::vector<BatchSegment>{{0, 96}}));
  state.offset = 3;
  EXPECT_EQ(must(with_total(state, 48)).batches, state.batches);
  EXPECT_EQ(with_total(state, 96).error().message,
            "another global batch in the midst of an epoch of packed rows");
  state.offset = 0;
  state.over = true;
  EXPECT_FALSE(with_total(state, 96).ok());
}

TEST(RunState, OfAnotherRunIsRefusedByTheFieldThatDiffers) {
  const RunState saved = example();
  const auto message = [&](auto change) {
    RunState asked = example();
    change(asked);
    const Status status = check_compatible(saved, asked);
    return status.ok() ? std::string("no error") : status.error().message;
  };
  const std::string begin = "the state is of another run: ";
  EXPECT_EQ(message([](RunState&) {}), "no error");
  EXPECT_EQ(message([](RunState& s) { s.fingerprints[0] = "77"; }),
            begin + "fingerprint is 5f2c in the state and 77 here");
  EXPECT_EQ(message([](RunState& s) { s.fingerprints.push_back("77"); }),
            begin + "data sets is 1 in the state and 2 here");
  EXPECT_EQ(message([](RunState& s) { s.options.order.shuffle = false; }),
            begin + "shuffle is true in the state and false here");
  EXPECT_EQ(message([](RunState& s) { s.options.order.seed = 8; }),
            begin + "seed is 7 in the state and 8 here");
  EXPECT_EQ(message([](RunState& s) { s.options.order.lanes = 8; }),
            begin + "lanes is 16 in the state and 8 here");
  EXPECT_EQ(message([](RunState& s) { s.options.order.window_bytes = 5; }),
            begin + "window is 30000 in the state and 5 here");
  EXPECT_EQ(message([](RunState& s) { s.options.order.tail = Tail::kDrop; }),
            begin + "tail is pad in the state and drop here");
  EXPECT_EQ(message([](RunState& s) {
              s.options.weights = {{0, {65536}}};
            }),
            begin + "mixture is false in the state and true here");
  EXPECT_EQ(message([](RunState& s) { s.options.epoch_samples = 96; }),
            begin + "samples of a mixture's epoch is 0 in the state and 96 here");
  // What a new world asks for by default, and what may change.
  EXPECT_EQ(message([](RunState& s) { s.options.order.lanes = 0; }), "no error");
  EXPECT_EQ(message([](RunState& s) { s.options.order.global_batch = 96; }), "no error");
}

/// The message of decoding `text`, or "no error".
std::string decode_message(const std::string& text) {
  const auto state = decode_state(text);
  return state.ok() ? "no error" : state.error().message;
}

TEST(RunState, RefusesTextsThatAreNoState) {
  EXPECT_EQ(decode_message(""), "not a resume state: it is not JSON");
  EXPECT_EQ(decode_message("{\"headrace_state\": 1"), "not a resume state: it is not JSON");
  EXPECT_EQ(decode_message("[]"), "not a resume state: it is not a JSON object");
  EXPECT_EQ(decode_message("{}"), "not a resume state: headrace_state is missing");

  struct Damage {
    const char* pointer;
    const char* value;  // JSON; nullptr: removed
    const char* message;
  };
  const std::vector<Damage> damages = {
      {"/headrace_state", "2", "the state has version 2 and order version 1, this program 1 and 1"},
      {"/order", "9", "the state has version 1 and order version 9, this program 1 and 1"},
      {"/order", "\"1\"", "not a resume state: order is not a whole number"},
      {"/data", "[]", "not a resume state: data is not a list with elements"},
      {"/data", "[1, 2]", "not a resume state: data is not a list of fingerprints"},
      {"/data", "[\"one\"]",
       "not a resume state: the mixture's weights are not a list of [run offset, [a count a data "
       "set]]"},
      {"/shuffle", "1", "not a resume state: shuffle is not true or false"},
      {"/seed", "-1", "not a resume state: seed is not a whole number"},
      {"/seed", "1.5", "not a resume state: seed is not a whole number"},
      {"/seed", nullptr, "not a resume state: seed is missing"},
      {"/lanes", "0", "not a resume state: lanes is 0"},
      {"/lanes", "5", "not a resume state: the lanes do not divide a global batch in batches"},
      {"/window", "0", "not a resume state: window is 0"},
      {"/tail", "\"long\"", "not a resume state: unknown tail \"long\""},
      {"/epoch", "18446744073709551615", "not a resume state: epoch is 18446744073709551615"},
      {"/offset", "null", "not a resume state: offset is not a whole number"},
      {"/over", "0", "not a resume state: over is not true or false"},
      {"/batches", "[]", "not a resume state: batches is not a list with elements"},
      {"/batches", "[[0]]", "not a resume state: batches is not a list of [lane offset, rows]"},
      {"/batches", "[[0, -48]]",
       "not a resume state: batches is not a list of [lane offset, rows]"},
      {"/batches", "[[0, 0]]",
       "not a resume state: the lanes do not divide a global batch in batches"},
      {"/batches", "[[3, 48]]", "not a resume state: batches are not in order from offset 0"},
      {"/batches", "[[0, 48], [0, 48]]",
       "not a resume state: batches are not in order from offset 0"},
      {"/batches", "[[0, 48], [3, 48]]",
       "not a resume state: offset is before the last of batches"},
      {"/mixture", nullptr, "not a resume state: mixture is missing"},
      {"/mixture", "3", "not a resume state: mixture is not an object"},
      {"/mixture/samples", "97",
       "not a resume state: the lanes do not divide the mixture's samples"},
      {"/mixture/weights/0/0", "1",
       "not a resume state: the first weights of the mixture do not begin at offset 0"},
      {"/mixture/weights/0/1/0", "1",
       "not a resume state: the counts of a mixture do not sum to 65536"},
      {"/mixture/more", "1", "not a resume state: unknown field more"},
      {"/more", "1", "not a resume state: unknown field more"},
  };
  for (const Damage& damage : damages) {
    nlohmann::json json = nlohmann::json::parse(encode_state(mixture_example()));
    const nlohmann::json::json_pointer pointer(damage.pointer);
    if (damage.value == nullptr)
      json.erase(pointer.back());
    else
      json[pointer] = nlohmann::json::parse(damage.value);
    EXPECT_EQ(decode_message(json.dump()), damage.message) << damage.pointer;
  }
}

TEST(RunState, RefusesRowsThatCannotBePacked) {
  const auto message = [](const char* pointer, const char* value) {
    nlohmann::json json = nlohmann::json::parse(encode_state(packed_example()));
    json[nlohmann::json::json_pointer(pointer)] = nlohmann::json::parse(value);
    return decode_message(json.dump());
  };
  const std::string begin = "not a resume state: ";
  EXPECT_EQ(message("/pack", "3"), begin + "pack is not an object");
  EXPECT_EQ(message("/pack/length", "0"), begin + "length is 0");
  EXPECT_EQ(message("/pack/length", "1073741825"), begin + "length is 1073741825");
  EXPECT_EQ(message("/pack/by", "1"), begin + "by is not a text");
  EXPECT_EQ(message("/pack/more", "1"), begin + "unknown field more");
  EXPECT_EQ(message("/bucket", R"({"by": "txt", "steps": 2})"),
            begin + "pack goes with neither bucket nor mixture");
  nlohmann::json json = nlohmann::json::parse(encode_state(packed_example()));
  json["offset"] = 3;
  json["batches"] = {{0, 48}, {3, 96}};
  EXPECT_EQ(decode_message(json.dump()), begin + "pack goes with one of batches");
}

TEST(RunState, NeverCrashesOnDamagedText) {
  const std::string text = encode_state(mixture_example());
  Dice dice(31);
  int refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string damaged = text;
    for (uint32_t k = 0; k <= dice.below(3); ++k)
      damaged[dice.below(static_cast<uint32_t>(damaged.size()))] =
          static_cast<char>(dice.below(256));
    refused += decode_state(damaged).ok() ? 0 : 1;
  }
  EXPECT_GT(refused, 10'000);
}

TEST(RunState, OffsetsOutsideTheEpochAreRefusedWhenItIsPlanned) {
  RunState state = example();
  state.offset = 1000;
  const auto plan = EpochPlan::create(single(uneven_table(500, 9, 8, 1), state.options.order), 0);
  EXPECT_EQ(plan.value().steps().step_at(state.offset).error().message,
            "no step begins at lane offset 1000");
}

}  // namespace
}  // namespace headrace

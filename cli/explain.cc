// --explain of the verbs of reshaping.
#include "base/parallel.h"
#include "base/units.h"
#include "cli/reshape.h"

namespace headrace::cli {
namespace {

const char* name_of(Algorithm algorithm) {
  return algorithm == Algorithm::kBuckets ? "buckets" : "gather";
}

std::string cost_line(const Cost& cost) {
  std::string text = "reads " + format_bytes(cost.bytes_read);
  if (cost.requests_read > 0) text += " in " + format_number_of(cost.requests_read, "request");
  text += ", writes " + format_bytes(cost.bytes_written);
  if (cost.requests_written > 0)
    text += " in " + format_number_of(cost.requests_written, "request");
  text += ", memory " + format_bytes(cost.memory);
  if (cost.scratch > 0) text += ", scratch " + format_bytes(cost.scratch);
  text += ", about " + format_seconds(cost.seconds);
  if (cost.dollars > 0) {
    std::string dollars = std::to_string(cost.dollars);
    text += ", " + dollars.substr(0, dollars.find('.') + 3) + " USD of requests at S3's prices";
  }
  return text;
}

void add_cost(Json& json, const char* name, const Cost& cost) {
  json.key(name)
      .object()
      .member("bytes_read", cost.bytes_read)
      .member("bytes_written", cost.bytes_written)
      .member("requests_read", cost.requests_read)
      .member("requests_written", cost.requests_written)
      .member("memory", cost.memory)
      .member("scratch", cost.scratch)
      .member("seconds", cost.seconds)
      .member("dollars", cost.dollars)
      .end();
}

}  // namespace

void explain_plan(const ReshapePlan& plan, const RunOptions& options, Context& context) {
  const Choice choice =
      choose_algorithm(plan, plan.tasks(), options.memory_bytes, options.algorithm);
  std::string text;
  if (context.json) {
    Json json(text);
    json.object()
        .member("schema", "headrace.explain/1")
        .member("plan", plan.digest())
        .member("algorithm", name_of(choice.algorithm))
        .member("why", choice.why)
        .member("tasks", plan.tasks())
        .member("samples", plan.order().size());
    add_cost(json, "gather", choice.gather);
    add_cost(json, "buckets", choice.buckets);
    json.end();
    return context.out.text(text + "\n");
  }
  const Inputs& inputs = plan.inputs();
  text += "input      " + format_number_of(inputs.samples(), "sample") + " in " +
          format_number_of(inputs.shards(), "shard") + ", " + format_bytes(inputs.bytes()) + "\n";
  text += "output     " + format_number_of(plan.order().size(), "sample") + " in " +
          format_number_of(plan.tasks(), "shard") + ", one a task, to " + printable(plan.out()) +
          "\n";
  text += std::string("algorithm  ") + name_of(choice.algorithm) + ": " + choice.why + "\n";
  text += "gather     " + cost_line(choice.gather) + "\n";
  if (plan.order().columns() == 1) text += "buckets    " + cost_line(choice.buckets) + "\n";
  text += "threads    " + std::to_string(thread_count(options.threads)) + "\n";
  text += "commit     marker, shards, records, tables, then headrace.json" +
          std::string(options.fsync ? ", with fsync before it\n" : ", without fsync\n");
  text += "plan       " + plan.digest() + "\n";
  context.out.text(text);
}

}  // namespace headrace::cli

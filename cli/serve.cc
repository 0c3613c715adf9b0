// headrace serve: the files of a data set over HTTP, for other nodes.
#include <cstdlib>
#include <memory>
#include <thread>

#include "base/try.h"
#include "base/units.h"
#include "cli/verbs.h"
#include "io/urls.h"
#include "plan/manifest.h"
#include "serve/file_server.h"

namespace headrace::cli {
namespace {

Result<int> run(ServeOptions options, Context& context) {
  if (const std::string scheme = url_scheme(options.folder); !scheme.empty() && scheme != "file")
    return Error{.code = Code::kUsage,
                 .message = "only a local folder can be served, not '" + options.folder + "'",
                 .hint = "'headrace cp' fetches it first."};
  options.folder = local_path(options.folder);
  // On the command line every user of the machine can see it.
  const char* token = std::getenv("HEADRACE_SERVE_TOKEN");
  if (options.token.empty() && token != nullptr) options.token = token;
  const bool loopback = options.host == "127.0.0.1" || options.host == "localhost";
  HR_TRY(const auto server, FileServer::start(options));
  const std::string url =
      "http://" + (loopback ? options.host : "THIS-HOST") + ":" + std::to_string(server->port());
  if (context.json) {
    std::string text;
    Json json(text);
    json.object().member("schema", "headrace.serve/1").member("url", url);
    json.member("port", uint64_t{server->port()}).end();
    context.out.text(text + "\n");
  } else {
    context.out.text(url + "\n");
  }
  HR_CHECK(context.out.flush());
  context.note("Ctrl-C ends it. Read it with: headrace info " + url);
  while (!context.progress.stopped()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  context.note(format_number_of(server->counters().requests, "request") + ", " +
               format_bytes(server->counters().bytes) + " sent");
  return 0;
}

}  // namespace

const Verb kServe{
    .name = "serve",
    .summary = "Offer a data set over HTTP: ranges, ETags, a token",
    .examples =
        "headrace serve shards/ --port 8080      # for this machine alone\n"
        "HEADRACE_SERVE_TOKEN=secret headrace serve shards/ --host 0.0.0.0 --port 8080\n"
        "curl http://127.0.0.1:8080/headrace.json\n",
    .setup = [](CLI::App& app) -> Action {
      auto o = std::make_shared<ServeOptions>();
      app.add_option("FOLDER", o->folder, "Of the data set")->required()->type_name("");
      app.add_option("--port", o->port, "To listen on (0: one that is free)")->type_name("N");
      app.add_option("--host", o->host, "Address to listen on (127.0.0.1: this machine alone)")
          ->type_name("ADDRESS");
      app.add_option("--token", o->token,
                     "What clients must send; HEADRACE_SERVE_TOKEN is not seen by other users")
          ->type_name("TEXT");
      app.add_option("--name", o->names, "Another name of this host that clients may use")
          ->type_name("NAME");
      return [o](Context& context) { return run(*o, context); };
    },
    .stoppable = true};

}  // namespace headrace::cli

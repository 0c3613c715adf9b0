#include "job/map/children.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "io/file.h"
#include "io/system_error.h"
#include "job/progress.h"

extern char** environ;

namespace headrace {
namespace {

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> out;
  out.reserve(words.size() + 1);
  for (std::string& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

std::vector<std::string> environment_with(
    const std::vector<std::pair<std::string, std::string>>& more) {
  std::vector<std::string> out;
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string_view known(*at);
    bool replaced = false;
    for (const auto& [name, value] : more) replaced = replaced || known.starts_with(name + "=");
    if (!replaced) out.emplace_back(known);
  }
  for (const auto& [name, value] : more) out.push_back(name + "=" + value);
  return out;
}

// Between fork and exec, where little is safe: no memory is taken.
[[noreturn]] void become(char* const* words, char* const* env, const char* folder,
                         const int (&descriptors)[3], pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // it ended before it could be asked for
  ::signal(SIGPIPE, SIG_DFL);
  for (int i = 0; i < 3; ++i) ::dup2(descriptors[i], i);
  constexpr char kFailed[] = "it cannot be run\n";
  if (*folder == '\0' || ::chdir(folder) == 0) ::execvpe(words[0], words, env);
  if (::write(STDERR_FILENO, kFailed, sizeof kFailed - 1) < 0) ::_exit(126);
  ::_exit(127);
}

}  // namespace

Result<pid_t> Children::start(const ChildCommand& command) {
  const File nothing = open_file(AT_FDCWD, "/dev/null", O_RDWR);
  if (!nothing.is_open()) return system_error("open", "/dev/null", errno);
  const auto real = [&](int descriptor) { return descriptor < 0 ? nothing.get() : descriptor; };
  const int descriptors[3] = {real(command.input), real(command.output), real(command.errors)};
  std::vector<std::string> words = command.words;
  std::vector<std::string> env = environment_with(command.env);
  const std::vector<char*> word_pointers = pointers(words);
  const std::vector<char*> env_pointers = pointers(env);
  const pid_t parent = ::getpid();

  const std::lock_guard lock(mutex_);
  if (closed_) return Progress::interrupted();
  const pid_t child = ::fork();
  if (child < 0) return system_error("start", command.words.front(), errno);
  if (child == 0)
    become(word_pointers.data(), env_pointers.data(), command.folder.c_str(), descriptors, parent);
  ::setpgid(child, child);  // whichever of the two comes first
  groups_.insert(child);
  return child;
}

std::string Children::wait(pid_t child) {
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) != 0 &&
         errno == EINTR) {
  }
  int status = 0;
  {
    // As long as it is not reaped, nobody else has its number.
    const std::lock_guard lock(mutex_);
    groups_.erase(child);
    ::kill(-child, SIGKILL);
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
  }
  if (WIFSIGNALED(status))
    return "signal " + std::to_string(WTERMSIG(status)) + " (" + ::strsignal(WTERMSIG(status)) +
           ")";
  return WEXITSTATUS(status) == 0 ? "" : "exit status " + std::to_string(WEXITSTATUS(status));
}

void Children::kill_all() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  for (const pid_t group : groups_) ::kill(-group, SIGKILL);
}

}  // namespace headrace

// The physical limit beside which the benchmarks are read: the same files, moved by nothing but
// system calls.
//
//   find … | io_limit read THREADS        reads every file named on standard input, whole, into one
//                                         hot buffer of 1 MiB a thread
//   find … | io_limit copy THREADS DEST   also writes the bytes, one file DEST.N a thread
//
// Prints the seconds it took and the bytes it read. Threads take the next file as they come free;
// large files are taken in pieces of 16 MiB, so that the threads end together.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr size_t kBuffer = size_t{1} << 20;
constexpr off_t kPiece = off_t{16} << 20;

struct Piece {
  const std::string* path;
  off_t begin, end;
};

[[noreturn]] void fail(const std::string& what) {
  std::perror(what.c_str());
  std::exit(1);
}

/// Files are sized here, outside the timing: a reader of packed data knows the sizes, too.
std::vector<Piece> cut(const std::vector<std::string>& paths) {
  std::vector<Piece> pieces;
  for (const std::string& path : paths) {
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) fail(path);
    for (off_t at = 0; at < status.st_size; at += kPiece)
      pieces.push_back({&path, at, std::min(at + kPiece, status.st_size)});
  }
  return pieces;
}

void write_all(int out, const char* data, size_t size) {
  while (size > 0) {
    const ssize_t done = write(out, data, size);
    if (done < 0) fail("write");
    data += done;
    size -= static_cast<size_t>(done);
  }
}

/// `out`: -1 to read only. Returns the bytes moved.
size_t move_piece(const Piece& piece, std::vector<char>& buffer, int out) {
  const int in = open(piece.path->c_str(), O_RDONLY | O_CLOEXEC);
  if (in < 0) fail(*piece.path);
  size_t moved = 0;
  for (off_t at = piece.begin; at < piece.end;) {
    const size_t want = std::min(kBuffer, static_cast<size_t>(piece.end - at));
    const iovec into{buffer.data(), want};
    const ssize_t got = preadv(in, &into, 1, at);
    if (got <= 0) fail(*piece.path);
    if (out >= 0) write_all(out, buffer.data(), static_cast<size_t>(got));
    at += got;
    moved += static_cast<size_t>(got);
  }
  close(in);
  return moved;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string verb = argc > 2 ? argv[1] : "";
  if (!(verb == "read" && argc == 3) && !(verb == "copy" && argc == 4)) {
    std::fputs("usage: io_limit read THREADS | io_limit copy THREADS DEST\n", stderr);
    return 2;
  }
  const int threads = std::max(1, std::atoi(argv[2]));
  std::vector<std::string> paths;
  for (std::string line; std::getline(std::cin, line);) paths.push_back(line);
  const std::vector<Piece> pieces = cut(paths);

  std::atomic<size_t> next{0}, bytes{0};
  const auto work = [&](int number) {
    std::vector<char> buffer(kBuffer, 1);  // touched: hot from the first read on
    int out = -1;
    if (verb == "copy") {
      const std::string path = std::string(argv[3]) + "." + std::to_string(number);
      out = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
      if (out < 0) fail(path);
    }
    size_t moved = 0;
    for (size_t i = next++; i < pieces.size(); i = next++)
      moved += move_piece(pieces[i], buffer, out);
    if (out >= 0) close(out);
    bytes += moved;
  };
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::thread> others;
  for (int i = 1; i < threads; ++i) others.emplace_back(work, i);
  work(0);
  for (std::thread& thread : others) thread.join();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  std::printf("%.6f %zu\n", seconds.count(), bytes.load());
  return 0;
}

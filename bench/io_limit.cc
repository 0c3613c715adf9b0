// The physical limit beside which the benchmarks are read: the same files, moved by nothing but
// system calls.
//
//   find … | io_limit read THREADS        reads every file named on standard input, whole, into one
//                                         hot buffer of 1 MiB a thread
//   find … | io_limit copy THREADS DEST   also writes the bytes, one file DEST.N a thread; opens
//   each
//                                         file when its turn comes, as all that pack files must
//   find … | io_limit rows THREADS BYTES  reads them in rows of so many bytes, shuffled, one call
//                                         each, into as much memory as a few batches take
//
// Prints the seconds it took and the bytes it read. Threads take the next piece as they come free;
// large files are read in pieces of 16 MiB, so that the threads end together.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr size_t kBuffer = size_t{1} << 20;
constexpr size_t kBatches = size_t{96} << 20;
constexpr off_t kPiece = off_t{16} << 20;

struct Piece {
  std::string path;
  int file;  // -1: not open yet
  off_t begin, end;
};

[[noreturn]] void fail(const std::string& what) {
  std::perror(what.c_str());
  std::exit(1);
}

int open_or_fail(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) fail(path);
  return file;
}

/// Sized here, outside the timing, and opened if they stay open, as a reader has packed data; more
/// than a process may have open come one by one.
std::vector<Piece> cut(off_t piece, bool keep_open) {
  constexpr size_t kMostOpen = 1000;
  std::vector<std::string> paths;
  for (std::string path; std::getline(std::cin, path);) paths.push_back(path);
  keep_open = keep_open && paths.size() <= kMostOpen;
  std::vector<Piece> pieces;
  for (const std::string& path : paths) {
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) fail(path);
    const int file = keep_open ? open_or_fail(path) : -1;
    for (off_t at = 0; at < status.st_size; at += piece)
      pieces.push_back({path, file, at, std::min(at + piece, status.st_size)});
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

void read_all(int file, off_t at, off_t end, char* into) {
  while (at < end) {
    const ssize_t got = pread(file, into, static_cast<size_t>(end - at), at);
    if (got <= 0) fail("pread");
    into += got;
    at += got;
  }
}

/// `out`: -1 to read only.
void move_piece(const Piece& piece, std::vector<char>& buffer, int out) {
  const int file = piece.file < 0 ? open_or_fail(piece.path) : piece.file;
  for (off_t at = piece.begin; at < piece.end;) {
    const off_t end = std::min(at + static_cast<off_t>(kBuffer), piece.end);
    read_all(file, at, end, buffer.data());
    if (out >= 0) write_all(out, buffer.data(), static_cast<size_t>(end - at));
    at = end;
  }
  if (piece.file < 0) close(file);
}

/// One row behind the other, and from the front again.
size_t keep_row(const Piece& row, std::vector<char>& batches, size_t at) {
  const auto size = static_cast<size_t>(row.end - row.begin);
  if (at + size > batches.size()) at = 0;
  read_all(row.file, row.begin, row.end, batches.data() + at);
  return at + size;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string verb = argc > 2 ? argv[1] : "";
  const bool rows = verb == "rows" && argc == 4;
  const bool copy = verb == "copy" && argc == 4;
  if (!rows && !copy && !(verb == "read" && argc == 3)) {
    std::fputs("usage: io_limit read|copy|rows THREADS [DEST|BYTES]\n", stderr);
    return 2;
  }
  const auto threads = static_cast<size_t>(std::max(1, std::atoi(argv[2])));
  std::vector<Piece> pieces = cut(rows ? std::max(1L, std::atol(argv[3])) : kPiece, !copy);
  if (rows) std::shuffle(pieces.begin(), pieces.end(), std::mt19937_64(1));
  // Touched: no page is new while the time is taken.
  std::vector<std::vector<char>> memory(threads,
                                        std::vector<char>(rows ? kBatches / threads : kBuffer, 1));

  std::atomic<size_t> next{0};
  const auto work = [&](size_t number) {
    int out = -1;
    if (copy) {
      const std::string path = std::string(argv[3]) + "." + std::to_string(number);
      out = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
      if (out < 0) fail(path);
    }
    size_t kept = 0;
    for (size_t i = next++; i < pieces.size(); i = next++) {
      if (rows)
        kept = keep_row(pieces[i], memory[number], kept);
      else
        move_piece(pieces[i], memory[number], out);
    }
    if (out >= 0) close(out);
  };
  const auto begin = std::chrono::steady_clock::now();
  {
    std::vector<std::jthread> others;
    for (size_t i = 1; i < threads; ++i) others.emplace_back(work, i);
    work(0);
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  off_t bytes = 0;
  for (const Piece& piece : pieces) bytes += piece.end - piece.begin;
  std::printf("%.6f %lld\n", seconds.count(), static_cast<long long>(bytes));
  return 0;
}

#if Relay
  import Foundation

  /// What a process takes of its machine, under the names that Prometheus has for that. On Linux; elsewhere only the
  /// processor time, which has never been looked at there.
  enum ProcessMetrics {
    static func lines() -> [String] {
      var lines: [String] = []
      func family(_ name: String, _ type: String, _ help: String, _ value: String?) {
        guard let value else { return }
        lines += ["# HELP \(name) \(help)", "# TYPE \(name) \(type)", "\(name) \(value)"]
      }
      family(
        "process_cpu_seconds_total", "counter", "Total user and system CPU time spent in seconds.", processorSeconds())
      let status = Status()
      family("process_resident_memory_bytes", "gauge", "Resident memory size in bytes.", status?.residentBytes)
      family("process_virtual_memory_bytes", "gauge", "Virtual memory size in bytes.", status?.virtualBytes)
      family(
        "process_start_time_seconds", "gauge", "Start time of the process since unix epoch in seconds.",
        startTime(status))
      family("process_open_fds", "gauge", "Number of open file descriptors.", openDescriptors())
      family("process_max_fds", "gauge", "Maximum number of open file descriptors.", mostDescriptors())
      return lines
    }

    private static func processorSeconds() -> String? {
      var usage = rusage()
      #if canImport(Glibc)
        guard getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage) == 0 else { return nil }
      #else
        guard getrusage(Int32(RUSAGE_SELF), &usage) == 0 else { return nil }
      #endif
      func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1_000_000 }
      return "\(seconds(usage.ru_utime) + seconds(usage.ru_stime))"
    }

    /// What stands in `/proc/self/stat` behind the name of the program: proc(5) counts from 1, the state is field 3.
    private struct Status {
      private let fields: [Substring]

      init?() {
        guard let text = text(of: "/proc/self/stat"), let end = text.lastIndex(of: ")") else { return nil }
        fields = text[text.index(after: end)...].split(separator: " ")
        guard fields.count > 21 else { return nil }
      }

      var startTicks: Double? { Double(fields[19]) }
      var virtualBytes: String { String(fields[20]) }
      var residentBytes: String? { Int(fields[21]).map { "\($0 * sysconf(Int32(_SC_PAGESIZE)))" } }
    }

    private static func startTime(_ status: Status?) -> String? {
      guard let ticks = status?.startTicks, let lines = text(of: "/proc/stat")?.split(separator: "\n"),
        let boot = lines.first(where: { $0.hasPrefix("btime ") }).flatMap({ Double($0.dropFirst(6)) })
      else { return nil }
      return "\(boot + ticks / Double(sysconf(Int32(_SC_CLK_TCK))))"
    }

    private static func openDescriptors() -> String? {
      // The folder itself is open while it is read.
      (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")).map { "\(max(0, $0.count - 1))" }
    }

    private static func mostDescriptors() -> String? {
      var limit = rlimit()
      #if canImport(Glibc)
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return nil }
      #else
        guard getrlimit(Int32(RLIMIT_NOFILE), &limit) == 0 else { return nil }
      #endif
      return "\(limit.rlim_cur)"
    }

    /// A file of `/proc`, which does not say how long it is.
    private static func text(of path: String) -> String? {
      guard let file = FileHandle(forReadingAtPath: path) else { return nil }
      defer { try? file.close() }
      return (try? file.readToEnd()).map { String(decoding: $0, as: UTF8.self) }
    }
  }
#endif

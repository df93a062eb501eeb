import Foundation

/// What a stretch of work cost.
struct Cost: Codable {
  /// Seconds of processor time, of user and system, in all threads.
  var cpu = 0.0
  /// Seconds on the wall.
  var wall = 0.0
  /// Bytes made, where the work makes any.
  var bytes = 0.0
}

/// Measures the whole process.
enum Meter {
  static func measure(_ body: () throws -> Void) rethrows -> Cost {
    let (cpu, start) = (processorSeconds(), ContinuousClock.now)
    try body()
    let wall = ContinuousClock.now - start
    return Cost(cpu: processorSeconds() - cpu, wall: wall / .seconds(1))
  }

  private static func processorSeconds() -> Double {
    var usage = rusage()
    #if canImport(Glibc)
      getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    #else
      getrusage(RUSAGE_SELF, &usage)
    #endif
    return seconds(usage.ru_utime) + seconds(usage.ru_stime)
  }

  private static func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
}

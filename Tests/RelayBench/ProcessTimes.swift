#if Relay
  import Foundation

  /// What `/proc` says of the processor time of a process, in ticks.
  struct ProcessTimes {
    let parent: Int32
    /// Of the process itself, in both modes.
    let own: Int
    /// Of its children that have ended.
    let ended: Int

    /// Nil if there is no such process any more.
    init?(_ pid: Int32) {
      guard let data = FileManager.default.contents(atPath: "/proc/\(pid)/stat") else { return nil }
      // The name of the program may contain anything.
      let fields = String(decoding: data, as: UTF8.self).split(separator: ")").last?.split(separator: " ") ?? []
      guard fields.count > 14, let parent = Int32(fields[1]) else { return nil }
      let ticks = fields[11...14].compactMap { Int($0) }
      guard ticks.count == 4 else { return nil }
      (self.parent, own, ended) = (parent, ticks[0] + ticks[1], ticks[2] + ticks[3])
    }

    static func duration(_ ticks: Int) -> Duration { .milliseconds(ticks * 1_000 / sysconf(Int32(_SC_CLK_TCK))) }
  }
#endif

#if Relay
  import Dispatch
  import Foundation
  import ServiceLifecycle

  /// Gives memory back to the system. What a burst of requests has used is free afterwards, but glibc keeps it for the
  /// next one, and with a thread for each core it keeps much.
  struct MemoryService: Service {
    let store: any RelayStorage
    /// The time between two looks.
    let pause: Duration

    /// How much more than the least so far is left alone, a part of that and some pages: giving it back takes some
    /// milliseconds.
    private static let (slack, slackPages) = (1.1, 512.0)
    private static let queue = DispatchQueue(label: "relay.memory", qos: .utility)

    /// From this size on, a piece of memory goes back to the system when it is freed. By itself glibc raises that to
    /// the size of the largest that was ever freed, and pages are made in pieces of up to 4 MiB: then what is left
    /// between those that are still in use stays, in each thread's part of the memory.
    private static let mappedBytes: CInt = 128 << 10

    func run() async throws {
      // M_MMAP_THRESHOLD.
      _ = Self.options?(-3, Self.mappedBytes)
      try await cancelWhenGracefulShutdown {
        // What it has before there are requests: a burst may come before the first look.
        var least = Self.resident.map(Double.init) ?? .infinity
        while !Task.isCancelled {
          do { try await Task.sleep(for: pause) } catch is CancellationError { return }
          // Without a number each look gives back.
          if let now = Self.resident {
            least = min(least, Double(now))
            guard Double(now) > least * Self.slack + Self.slackPages else { continue }
          }
          store.releaseMemory()
          Self.queue.async { _ = Self.trim?(0) }
        }
      }
    }

    /// `malloc_trim`, which glibc has and other libraries do not.
    private static let trim: (@convention(c) (Int) -> CInt)? = dlsym(nil, "malloc_trim").map {
      unsafeBitCast($0, to: (@convention(c) (Int) -> CInt).self)
    }

    /// `mallopt`, likewise.
    private static let options: (@convention(c) (CInt, CInt) -> CInt)? = trim.flatMap { _ in
      dlsym(nil, "mallopt").map { unsafeBitCast($0, to: (@convention(c) (CInt, CInt) -> CInt).self) }
    }

    /// The pages of memory that the process has of its own, without those of files, such as its program; nil where
    /// there is no `/proc`.
    private static var resident: Int? {
      guard let data = FileManager.default.contents(atPath: "/proc/self/statm") else { return nil }
      let pages = String(decoding: data, as: UTF8.self).split(separator: " ").compactMap { Int($0) }
      return pages.count > 2 ? pages[1] - pages[2] : nil
    }
  }
#endif

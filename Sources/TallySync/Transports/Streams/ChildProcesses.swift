#if os(macOS) || os(Linux)
  import Foundation
  import Synchronization

  #if canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #elseif canImport(Darwin)
    import Darwin
  #endif

  /// The commands that this process has started and that have not ended.
  package enum ChildProcesses {
    static let running = Mutex<Set<pid_t>>([])

    /// Asks all of them to end, for a process that is about to end itself.
    package static func terminateAll() { for process in running.withLock({ $0 }) { terminate(process) } }

    /// Asks a command that has not been reaped to end. A shell does not pass the signal on to what it waits for, so
    /// that gets it as well.
    static func terminate(_ process: pid_t) {
      for descendant in descendants(of: process).reversed() { _ = kill(descendant, SIGTERM) }
      _ = kill(process, SIGTERM)
    }

    private static func descendants(of process: pid_t) -> [pid_t] {
      var found: [pid_t] = []
      var next = [process]
      while let parent = next.popLast() {
        let children = children(of: parent).filter { !found.contains($0) }
        found += children
        next += children
      }
      return found
    }

    private static func children(of parent: pid_t) -> [pid_t] {
      #if canImport(Darwin)
        var children = [pid_t](repeating: 0, count: 256)
        let size = children.count * MemoryLayout<pid_t>.size
        let count = Int(proc_listchildpids(parent, &children, Int32(size)))
        return Array(children.prefix(max(0, count)))
      #else
        // proc(5): the threads of a process know what it has started.
        let path = "/proc/\(parent)/task"
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
        return threads.flatMap { thread -> [pid_t] in
          let text = (try? String(contentsOfFile: "\(path)/\(thread)/children", encoding: .utf8)) ?? ""
          return text.split(separator: " ").compactMap { pid_t($0) }
        }
      #endif
    }
  }
#endif

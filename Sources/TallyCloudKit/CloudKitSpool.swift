#if canImport(CloudKit)
  import Foundation
  import Synchronization
  import TallySync

  /// Contents that have come and were not read yet, and those on their way out, as files: CloudKit gives and takes
  /// assets as files, and what is read in pieces, or looked at twice, is asked for once.
  ///
  /// Each is dropped when it was read to its end, so that an entry that looks damaged is read from iCloud the next
  /// time. The oldest go where there is no room. The folder goes with the mailbox, or with the system's temporary
  /// files.
  final class CloudKitSpool: Sendable {
    private struct State {
      var files: [String: (number: Int, byteCount: Int)] = [:]
      var byteCount = 0
      var next = 0
    }

    private static let made = Atomic(0)
    private let folder: URL
    private let limit: Int
    private let state = Mutex(State())

    init(limit: Int = 64 << 20) {
      let number = Self.made.wrappingAdd(1, ordering: .relaxed).newValue
      folder = FileManager.default.temporaryDirectory
        .appendingPathComponent("tally-cloudkit-\(ProcessInfo.processInfo.processIdentifier)-\(number)")
      self.limit = limit
    }

    deinit {
      // The system removes what this cannot.
      try? FileManager.default.removeItem(at: folder)
    }

    private func url(_ number: Int) -> URL { folder.appendingPathComponent("\(number)") }

    /// A new file's name, in a folder that is there.
    private func makeURL() throws -> (Int, URL) {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      let number = state.withLock { state in
        state.next += 1
        return state.next
      }
      return (number, url(number))
    }

    // MARK: Coming in

    /// Keeps what has come. Without room for it, or a disk that takes it, it is asked for again: nothing depends on it.
    func keep(_ name: String, _ bytes: Data) {
      keep(name, bytes.count) { try bytes.write(to: $0) }
    }

    /// Keeps a copy of a file that the system may remove at any time.
    func keep(_ name: String, copyOf file: URL, byteCount: Int) {
      keep(name, byteCount) { try FileManager.default.copyItem(at: file, to: $0) }
    }

    private func keep(_ name: String, _ byteCount: Int, _ write: (URL) throws -> Void) {
      drop(name)
      let oldest = state.withLock { state in
        var oldest: [String] = []
        var bytes = state.byteCount
        for (name, file) in state.files.sorted(by: { $0.value.number < $1.value.number })
        where bytes + byteCount > limit {
          oldest.append(name)
          bytes -= file.byteCount
        }
        return oldest
      }
      for name in oldest { drop(name) }
      do {
        let (number, url) = try makeURL()
        try write(url)
        state.withLock { state in
          state.files[name] = (number, byteCount)
          state.byteCount += byteCount
        }
      } catch {
        return
      }
    }

    /// Opens what was kept under a name; nil if nothing is.
    func open(_ name: String) -> FileHandle? {
      guard let number = state.withLock({ $0.files[name]?.number }) else { return nil }
      guard let handle = try? FileHandle(forReadingFrom: url(number)) else {
        drop(name)
        return nil
      }
      return handle
    }

    /// All of what was kept under a name, which is dropped; nil if nothing is.
    func take(_ name: String) -> [UInt8]? {
      defer { drop(name) }
      guard let number = state.withLock({ $0.files[name]?.number }) else { return nil }
      return (try? Data(contentsOf: url(number))).map { [UInt8]($0) }
    }

    /// Forgets what was kept under a name.
    func drop(_ name: String) {
      let number = state.withLock { state -> Int? in
        guard let file = state.files.removeValue(forKey: name) else { return nil }
        state.byteCount -= file.byteCount
        return file.number
      }
      if let number { try? FileManager.default.removeItem(at: url(number)) }
    }

    // MARK: Going out

    /// Writes what is going to be an asset of so many bytes.
    /// - Throws: what the source and the file system throw; `MailboxError` if the source ends earlier. No file is left
    ///   then.
    func write(_ source: () throws -> [UInt8]?, byteCount: Int) throws -> URL {
      let (_, url) = try makeURL()
      do {
        try Data().write(to: url)
        let handle = try FileHandle(forWritingTo: url)
        defer { try? handle.close() }
        var rest = byteCount
        while let piece = try source() {
          try handle.write(contentsOf: piece)
          rest -= piece.count
        }
        guard rest == 0 else { throw MailboxError(.malformed, "an upload is not as long as it says") }
      } catch {
        try? FileManager.default.removeItem(at: url)
        throw error
      }
      return url
    }
  }
#endif

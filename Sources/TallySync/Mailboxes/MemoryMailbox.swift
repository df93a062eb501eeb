import Synchronization

/// A mailbox in memory, for tests, which works correctly or simulates the faults of bad drives.
public final class MemoryMailbox: FileMailbox {
  /// The faults that a test can switch on.
  public struct Faults: Sendable {
    /// The names that listings omit.
    public var unlisted: Set<String> = []
    /// The names that are listed as not downloaded to this device.
    public var notDownloaded: Set<String> = []
    /// The names of truncated files, each with the number of bytes that can be read.
    public var cut: [String: Int] = [:]
    /// The names of damaged files, each with the number of leading bytes that are read as zeros.
    public var zeroed: [String: Int] = [:]
    /// The names of files that cannot be read at all.
    public var unreadable: Set<String> = []
    /// The number of calls that succeed before the mailbox becomes unavailable; nil if it stays available.
    public var callsLeft: Int?

    /// Creates faults that are all switched off.
    public init() {}
  }

  private struct File {
    var bytes: [UInt8]
    var revision: Int
  }

  private struct State {
    var files: [String: File] = [:]
    var faults = Faults()
    var revision = 0

    mutating func put(_ name: String, _ bytes: [UInt8]) {
      revision += 1
      files[name] = File(bytes: bytes, revision: revision)
    }
  }

  private let state = Mutex(State())
  /// The mailbox's name, for logs and status.
  public let name: String
  /// The identity by which a store remembers the mailbox.
  public let identity: String

  /// Creates an empty mailbox.
  /// - Parameters:
  ///   - name: the mailbox's name, for logs and status.
  ///   - identity: the identity by which a store remembers it; a unique one if omitted.
  public init(name: String = "memory", identity: String? = nil) {
    self.name = name
    self.identity = identity ?? "memory \(UInt64.random(in: .min ... .max))"
  }

  // MARK: As a mailbox

  /// Returns the files in the order of their names, without those that faults hide.
  public func list(prefix: String) throws -> [MailboxItem] {
    try call { state in
      state.files.compactMap { name, file in
        guard name.lowercased().hasPrefix(prefix), !state.faults.unlisted.contains(name) else { return nil }
        let version = "\(file.revision)-\(state.faults.cut[name] ?? -1)-\(state.faults.zeroed[name] ?? 0)"
        return MailboxItem(
          name: name, state: state.faults.notDownloaded.contains(name) ? .notDownloaded : .available, version: version)
      }
    }
  }

  /// Opens a file and returns a function that reads it, as far as the faults allow.
  public func get(_ name: String) throws -> () throws -> [UInt8]? {
    let bytes = try call { state in
      guard let file = state.files[name] else { throw MailboxError(.noSuchFile, "there is no such file") }
      guard !state.faults.unreadable.contains(name), !state.faults.notDownloaded.contains(name) else {
        throw MailboxError(.unreadable, "the file cannot be read")
      }
      var bytes = Array(file.bytes.prefix(state.faults.cut[name] ?? .max))
      for index in bytes.indices.prefix(state.faults.zeroed[name] ?? 0) { bytes[index] = 0 }
      return bytes
    }
    var rest = bytes[...]
    return {
      defer { rest = rest.dropFirst(1 << 10) }
      return rest.isEmpty ? nil : Array(rest.prefix(1 << 10))
    }
  }

  /// Puts a file, if the faults allow it.
  public func put(_ name: String, from source: () throws -> [UInt8]?) throws {
    var bytes: [UInt8] = []
    while let piece = try source() { bytes += piece }
    try call { $0.put(name, bytes) }
  }

  /// Removes a file. Removing a file that does not exist is not an error.
  public func remove(_ name: String) throws { try call { $0.files[name] = nil } }

  private func call<T>(_ body: (inout State) throws -> T) throws -> T {
    try state.withLock { state in
      if let left = state.faults.callsLeft {
        guard left > 0 else { throw MailboxError(.unavailable, "the mailbox is gone") }
        state.faults.callsLeft = left - 1
      }
      return try body(&state)
    }
  }

  // MARK: For tests

  /// The faults that occur from now on.
  public var faults: Faults {
    get { state.withLock { $0.faults } }
    set { state.withLock { $0.faults = newValue } }
  }

  /// All files in the order of their names, regardless of the faults.
  public var files: [(name: String, bytes: [UInt8])] {
    state.withLock { state in state.files.map { ($0.key, $0.value.bytes) } }.sorted { $0.0 < $1.0 }
  }

  /// Puts bytes under a name, regardless of the faults, as a drive that truncates a file would, or another program that
  /// writes something else into the folder. The entry gets a new version, so the next pass reads it.
  public func place(_ bytes: [UInt8], as name: String) { state.withLock { $0.put(name, bytes) } }
}

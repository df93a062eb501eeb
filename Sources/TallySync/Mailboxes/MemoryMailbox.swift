import Synchronization

/// A mailbox in memory, for tests: it does what it should, or what bad drives do.
public final class MemoryMailbox: FileMailbox {
  /// The faults that a test can switch on.
  public struct Faults: Sendable {
    /// Names that listings do not show.
    public var unlisted: Set<String> = []
    /// Names that are listed as being on another device.
    public var notDownloaded: Set<String> = []
    /// Names of which only the first so many bytes can be read.
    public var cut: [String: Int] = [:]
    /// Names whose first so many bytes are zeros.
    public var zeroed: [String: Int] = [:]
    /// Names that cannot be read at all.
    public var unreadable: Set<String> = []
    /// The number of calls that succeed before the mailbox becomes unavailable; nil if it stays.
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

  /// An empty mailbox.
  /// - Parameters:
  ///   - name: the mailbox's name, for logs and status.
  ///   - identity: what a store remembers it by; one of its own unless it is given.
  public init(name: String = "memory", identity: String? = nil) {
    self.name = name
    self.identity = identity ?? "memory \(UInt64.random(in: .min ... .max))"
  }

  // MARK: As a mailbox

  /// The names, in order, without what faults hide.
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

  /// The bytes, as far as faults let them be read.
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

  /// Puts a file, as the faults allow.
  public func put(_ name: String, from source: () throws -> [UInt8]?) throws {
    var bytes: [UInt8] = []
    while let piece = try source() { bytes += piece }
    try call { $0.put(name, bytes) }
  }

  /// Removes a file; one that is not there is no error.
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

  /// All files, in the order of their names, in spite of the faults.
  public var files: [(name: String, bytes: [UInt8])] {
    state.withLock { state in state.files.map { ($0.key, $0.value.bytes) } }.sorted { $0.0 < $1.0 }
  }

  /// Puts bytes under a name, in spite of the faults: as a drive would that cuts a file, or another program that writes
  /// something else into the folder. The entry gets a new version, so the next pass reads it.
  public func place(_ bytes: [UInt8], as name: String) { state.withLock { $0.put(name, bytes) } }
}

import Foundation
import GRDB
import Synchronization
import Tally
import TallySync
import Testing

#if Network
  import TallyNetwork
#endif

struct Note: Entity, Codable, FetchableRecord, PersistableRecord {
  static let schema = EntitySchema("Note", .text("text"), .integer("stars"))
  var id = RecordName<Note>()
  var text: String?
  var stars: Int?
}

/// A store in a file of its own that disappears with the test; opened only while it is used, so that another process
/// can serve it.
final class Site: Sendable {
  let path: String
  private let folder: URL
  private let held = Mutex<Store?>(nil)

  init(notes count: Int = 0, _ prefix: String = "note") throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("tally-site-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    path = folder.appendingPathComponent("store.tally").path
    try use { _ in }
    if count > 0 { try insert(count, prefix) }
  }

  deinit {
    for path in [folder.path, folder.path + "-drive"] { try? FileManager.default.removeItem(atPath: path) }
  }

  // MARK: Files

  /// The files of a closed store, by name.
  func backUp() throws -> [String: Data] {
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    return try names.reduce(into: [:]) { files, name in
      files[name] = try Data(contentsOf: folder.appendingPathComponent(name))
    }
  }

  /// Puts those files in the place of all there are.
  func restore(_ files: [String: Data]) throws {
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
      try FileManager.default.removeItem(at: folder.appendingPathComponent(name))
    }
    for (name, data) in files { try data.write(to: folder.appendingPathComponent(name)) }
  }

  /// A folder beside the store that others use as well.
  func drive(with other: Site) throws -> FolderMailbox {
    let base = [folder.path, other.folder.path].min() ?? folder.path
    let drive = URL(fileURLWithPath: base + "-drive", isDirectory: true)
    try FileManager.default.createDirectory(at: drive, withIntermediateDirectories: true)
    return FolderMailbox(drive)
  }

  // MARK: Content

  func open() throws -> Store {
    var options = StoreOptions()
    options.busyTimeout = 30
    return try Store(path: path, schema: Schema(Note.self), options: options)
  }

  /// Leaves the store open until `letGo()`: otherwise each closing brings the write-ahead log into the file.
  func hold() throws {
    let store = try open()
    held.withLock { $0 = store }
  }

  func letGo() throws {
    let store = held.withLock { store in
      defer { store = nil }
      return store
    }
    try store?.close()
  }

  func use<T>(_ body: (Store) throws -> T) throws -> T {
    if let store = held.withLock({ $0 }) { return try body(store) }
    let store = try open()
    defer { try? store.close() }
    return try body(store)
  }

  func using<T: Sendable>(_ body: @Sendable (Store) async throws -> T) async throws -> T {
    if let store = held.withLock({ $0 }) { return try await body(store) }
    let store = try open()
    defer { try? store.close() }
    return try await body(store)
  }

  func insert(_ count: Int, _ prefix: String) throws {
    try use { store in
      try store.write { db in for number in 0..<count { try Note(text: "\(prefix) \(number)", stars: 1).insert(db) } }
    }
  }

  func dump() throws -> String {
    try use { store in
      #expect(try store.verify().problems == [])
      var text = ""
      try store.dump(.canonical) { text += $0 }
      return text
    }
  }

  /// All of them, byte for byte.
  static func expectEqual(_ sites: Site..., at location: SourceLocation = #_sourceLocation) throws {
    let first = try sites[0].dump()
    for site in sites.dropFirst() { #expect(try site.dump() == first, sourceLocation: location) }
  }
}

/// A way to bring two stores together.
enum Link: String, CaseIterable, Sendable {
  case inProcess, folder, memory, pipes, child
  #if Network
    case tcp, secret, tls
  #endif

  /// Those that connect two ends, which can break, and follow changes.
  static let connected = allCases.filter { ![.inProcess, .folder].contains($0) }

  /// The built tool, which stands beside the test bundle.
  static let tool: String = {
    #if canImport(Darwin)
      let folder = Bundle.module.bundleURL.deletingLastPathComponent()
    #else
      let folder = (Bundle.main.executableURL ?? Bundle.main.bundleURL).deletingLastPathComponent()
    #endif
    return folder.appendingPathComponent("tally").path
  }()

  /// Two ends in this process.
  func pair() async throws -> (any SyncConnection, any SyncConnection) {
    switch self {
    case .memory, .inProcess, .folder: return MemoryConnection.pair()
    case .pipes, .child: return try StreamConnection.pair()
    #if Network
      case .tcp: return try await Loopback.pair(.none)
      case .secret: return try await Loopback.pair(.secret(.random()))
      case .tls: return try await Loopback.pair(Certificates.server, client: Certificates.client)
    #endif
    }
  }

  /// Syncs two stores, and gives what the first one's side says. A link that is cut by `wrap` may throw.
  @discardableResult
  func sync(
    _ a: Site, _ b: Site, _ settings: SyncSettings = SyncSettings(),
    wrap: @escaping @Sendable (any SyncConnection) -> any SyncConnection = { $0 }
  ) async throws -> SyncOutcome {
    if self == .inProcess { return try a.use { one in try b.use { SyncOutcome(try one.sync(with: $0)) } } }
    if self == .folder { return try await meet(a, b) }
    if self == .child {
      let transport = ProcessTransport(command: "'\(Self.tool)' serve '\(b.path)' --stdio --timeout 30 2>/dev/null")
      return try await a.using { try await $0.sync(over: wrap(try await transport.open()), settings) }
    }
    let (left, right) = try await pair()
    return try await a.using { one in
      try await b.using { two in
        async let there = two.sync(over: right, settings)
        let outcome = try await one.sync(over: wrap(left), settings)
        _ = try await there
        return outcome
      }
    }
  }

  /// Each passes through the folder until nothing is new: what two devices do that are never there together.
  private func meet(_ a: Site, _ b: Site) async throws -> SyncOutcome {
    let drive = try a.drive(with: b)
    var outcome = SyncOutcome()
    for _ in 0..<8 {
      let mine = try await a.using { try await $0.sync(through: drive) }
      outcome.changes += mine.changes
      outcome.conflicts += mine.conflicts
      outcome.bytesSent += UInt64(mine.bytesWritten)
      outcome.bytesReceived += UInt64(mine.bytesRead)
      outcome.repaired = outcome.repaired || mine.repaired
      let theirs = try await b.using { try await $0.sync(through: drive) }
      if mine.taken.isEmpty, mine.written.isEmpty, theirs.taken.isEmpty, theirs.written.isEmpty { break }
    }
    return outcome
  }
}

extension SyncOutcome {
  init(_ report: SyncReport) {
    self.init()
    (changes, conflicts) = (report.first.changes, report.first.conflicts)
    (bytesSent, repaired) = (UInt64(report.byteCount), report.repaired)
  }
}

import Foundation
import GRDB
import Tally
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

/// A store in a file of its own that disappears with the test; opened only while it is used, so that another process can serve it.
final class Site: Sendable {
  let path: String
  private let folder: URL

  init(notes count: Int = 0, _ prefix: String = "note") throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("tally-site-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    path = folder.appendingPathComponent("store.tally").path
    try use { _ in }
    if count > 0 { try insert(count, prefix) }
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  func open() throws -> Store {
    var options = StoreOptions()
    options.busyTimeout = 30
    return try Store(path: path, schema: Schema(Note.self), options: options)
  }

  func use<T>(_ body: (Store) throws -> T) throws -> T {
    let store = try open()
    defer { try? store.close() }
    return try body(store)
  }

  func using<T: Sendable>(_ body: @Sendable (Store) async throws -> T) async throws -> T {
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
  case memory, pipes, child
  #if Network
    case tcp, secret, tls
  #endif

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
    case .memory: return MemoryConnection.pair()
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
}

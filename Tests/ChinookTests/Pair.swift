import Foundation
import Tally
import Testing

/// Two replicas in files of their own, each with a clock that the test sets.
final class Pair {
  let first: Store
  let second: Store
  let folder: URL
  private let clocks = (first: TestClock(), second: TestClock())
  private var meetings = 0

  init() throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("tally-chinook-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    first = try Self.store(folder.appendingPathComponent("first.tally"), clocks.first)
    second = try Self.store(folder.appendingPathComponent("second.tally"), clocks.second)
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  var stores: [Store] { [first, second] }

  /// A third replica that has seen nothing yet.
  func newcomer() throws -> Store { try Self.store(folder.appendingPathComponent("third.tally"), TestClock()) }

  /// A new day: until the next one the second device always writes an hour after the first, so it wins.
  func day(_ number: Int) {
    clocks.first.date = Date(timeIntervalSince1970: 1_800_000_000 + Double(number) * 86_400)
    clocks.second.date = clocks.first.date + 3600
  }

  /// Both meet; the direction alternates.
  func meet(sourceLocation: Testing.SourceLocation = #_sourceLocation) throws {
    meetings += 1
    let report = try meetings.isMultiple(of: 2) ? second.sync(with: first) : first.sync(with: second)
    #expect(report.isConverged, sourceLocation: sourceLocation)
    #expect(!report.repaired, sourceLocation: sourceLocation)
  }

  private static func store(_ url: URL, _ clock: TestClock) throws -> Store {
    var options = StoreOptions()
    options.now = { clock.date }
    return try Store(path: url.path, schema: Chinook.schema, options: options)
  }
}

/// A clock that shows what the test sets.
private final class TestClock: @unchecked Sendable {
  private let lock = NSLock()
  private var shown = Date(timeIntervalSince1970: 1_800_000_000)

  var date: Date {
    get { lock.withLock { shown } }
    set { lock.withLock { shown = newValue } }
  }
}

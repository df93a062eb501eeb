import Tally

/// The outcome for a group of devices.
enum Ending: Equatable, Sendable {
  /// All have the same, and it is what was expected.
  case asExpected
  /// All have the same, and it is something else.
  case unexpected
  /// Two devices differ, although everybody has met everybody.
  case devicesDiffer

  /// The rows that everybody must see in the end.
  static let expected = [
    SpeechTypeRow(id: DefaultSpeechTypes.id("toast"), name: "Cheers", seconds: 120, color: "yellow", isOwn: true),
    SpeechTypeRow(id: DefaultSpeechTypes.id("eulogy"), name: "Eulogy", seconds: 600, color: "purple", isOwn: false),
    SpeechTypeRow(id: DefaultSpeechTypes.id("debate"), name: "Debate", seconds: 900, color: "cyan", isOwn: true),
    SpeechTypeRow(
      id: DefaultSpeechTypes.id("lightning"), name: "Lightning", seconds: 300, color: "cyan", isOwn: false),
  ].sorted { $0.id.name < $1.id.name }

  /// Looks at what the owners see, and at the fingerprints of all that is replicated.
  init(of group: Group) throws {
    let (views, summaries) = (try group.devices.map { try $0.rows() }, try group.devices.map { try $0.store.summary() })
    let first = summaries[0]
    let areEqual = summaries.allSatisfy { $0.vector == first.vector && $0.fingerprint == first.fingerprint }
    if !areEqual || views.contains(where: { $0 != views[0] }) {
      self = .devicesDiffer
    } else {
      self = views[0] == Self.expected ? .asExpected : .unexpected
    }
  }

  /// The ending of the story if people meet in this order.
  static func of(_ order: [Meeting]) throws -> Ending {
    let group = try Group.afterOfflineSteps()
    for meeting in order { try meeting.sync(group) }
    return try Ending(of: group)
  }

  /// The endings of all the orders, on all processors.
  static func of(_ orders: [[Meeting]]) async throws -> [Ending] {
    try await withThrowingTaskGroup(of: Ending.self) { tasks in
      for order in orders { tasks.addTask { try of(order) } }
      return try await tasks.reduce(into: []) { $0.append($1) }
    }
  }
}
